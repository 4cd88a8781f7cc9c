#include "server/request/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "server/models/vendor_names.h"

namespace syrinx {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxParameters = 64;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

const JsonIn* value_at(const JsonIn& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

struct FormatName {
  std::string_view name, format, encoding;  // encoding is empty if the format implies it
};
constexpr std::array<FormatName, 10> kFormatNames = {{
    {"pcm", "pcm", ""},
    {"ulaw", "pcm", "pcm_mulaw"},
    {"mulaw", "pcm", "pcm_mulaw"},
    {"alaw", "pcm", "pcm_alaw"},
    {"mp3", "mp3", ""},
    {"opus", "opus", ""},
    {"wav", "wav", ""},
    {"flac", "flac", ""},
    {"aac", "aac", ""},
    {"ogg", "opus", ""},
}};

}  // namespace

std::optional<JsonIn> parse_object(std::string_view bytes, LoneHalf lone) {
  const std::optional<std::string> mended = mend_halves(bytes, lone);
  if (mended) bytes = *mended;
  // Limits the depth while parsing, before values are built.
  bool too_deep = false;
  const auto bounded = [&too_deep](int depth, JsonIn::parse_event_t, JsonIn&) {
    if (depth > kMaxDepth) too_deep = true;
    return !too_deep;
  };
  try {
    JsonIn parsed = JsonIn::parse(bytes, bounded, false);
    if (too_deep || !parsed.is_object()) return {};
    return parsed;
  } catch (const JsonIn::exception&) {  // a number is outside the range of all types
    return {};
  }
}

std::string dump_json(const JsonIn& json) {
  return json.dump(-1, ' ', false, JsonIn::error_handler_t::replace);
}

std::string dump_json(const JsonOut& json) {
  return json.dump(-1, ' ', false, JsonOut::error_handler_t::replace);
}

std::optional<std::string> string_at(const JsonIn& object, const char* name) {
  const JsonIn* value = value_at(object, name);
  if (value == nullptr || !value->is_string()) return {};
  return value->get<std::string>();
}

std::optional<double> number_at(const JsonIn& object, const char* name) {
  const JsonIn* value = value_at(object, name);
  if (value == nullptr || !value->is_number()) return {};
  return value->get<double>();
}

bool true_at(const JsonIn& object, const char* name) {
  const JsonIn* value = value_at(object, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    out +=
        escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

std::string url_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
               hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Query::Query(std::string_view query) {
  while (!query.empty() && parameters_.size() < kMaxParameters) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const size_t equals = part.find('=');
    if (part.empty()) continue;
    parameters_.emplace_back(
        url_decode(part.substr(0, equals)),
        equals == std::string_view::npos ? "" : url_decode(part.substr(equals + 1)));
  }
}

std::optional<std::string> Query::find(std::string_view name) const {
  for (const auto& [key, value] : parameters_) {
    if (key == name) return value;
  }
  return {};
}

bool parse_output_format(std::string_view name, JsonIn& fields) {
  const size_t underscore = name.find('_');
  const std::string_view kind = name.substr(0, underscore);
  const auto at = std::find_if(kFormatNames.begin(), kFormatNames.end(),
                               [kind](const FormatName& row) { return row.name == kind; });
  if (at == kFormatNames.end()) return false;
  fields["response_format"] = at->format;
  if (!at->encoding.empty()) fields["encoding"] = at->encoding;
  if (underscore == std::string_view::npos) return true;
  const std::string_view digits = name.substr(underscore + 1);
  int rate_hz = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), rate_hz).ptr;
  if (rate_hz <= 0 || (end != digits.data() + digits.size() && *end != '_')) return false;
  fields["sample_rate"] = rate_hz;
  return true;
}

bool names_model(const PipelineInfo& info, std::string_view name) {
  const std::string_view own = info.model;
  return name.empty() || name == own || is_vendor_model(name) ||
         own.substr(own.rfind('/') + 1) == name.substr(name.rfind('/') + 1);
}

}  // namespace syrinx
