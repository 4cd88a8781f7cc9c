#include "server/chat/chat_tools.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "text/jinja/value.h"

namespace syrinx {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kBlanks = " \t\r\n";

/// Bytes at the end that may be the beginning of a call: blanks, then a beginning of its tag.
size_t may_begin_call(std::string_view text) {
  for (size_t size = std::min(text.size(), kOpen.size() - 1); size > 0; --size) {
    if (!text.ends_with(kOpen.substr(0, size))) continue;
    const size_t before = text.substr(0, text.size() - size).find_last_not_of(kBlanks);
    return text.size() - (before == text.npos ? 0 : before + 1);
  }
  const size_t last = text.find_last_not_of(kBlanks);
  return text.size() - (last == text.npos ? 0 : last + 1);
}

std::string_view trimmed_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// A call as it is written.
struct WrittenCall {
  std::string name;
  std::optional<jinja::Value> arguments;
};

std::optional<jinja::Value> read_object(std::string_view json) {
  auto parsed = jinja::parse_json(json, 100'000);
  if (!parsed || !parsed.value().is_map()) return std::nullopt;
  return parsed.take();
}

/// {"name", "arguments"}, or "parameters".
std::optional<WrittenCall> read_json_call(std::string_view body) {
  const auto object = read_object(body);
  if (!object) return std::nullopt;
  const jinja::Value* name = object->map().find("name");
  const jinja::Value* arguments = object->map().find("arguments");
  if (arguments == nullptr) arguments = object->map().find("parameters");
  if (name == nullptr || !name->is_text()) return std::nullopt;
  WrittenCall call{name->text(), {}};
  if (arguments != nullptr) call.arguments = *arguments;
  return call;
}

/// A line "function", one with the name, and the arguments as JSON, if there are any.
std::optional<WrittenCall> read_lined_call(std::string_view body) {
  std::string_view lines[2];
  for (std::string_view& line : lines) {
    const size_t end = std::min(body.find('\n'), body.size());
    line = trimmed_blanks(body.substr(0, end));
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  if (lines[0] != "function" || lines[1].empty()) return std::nullopt;
  WrittenCall call{std::string(lines[1]), {}};
  body = trimmed_blanks(body);
  if (body.empty()) return call;
  call.arguments = read_object(body);
  return call.arguments ? std::optional(call) : std::nullopt;
}

/// The object that a call's arguments must be, as JSON; nothing where they are something else.
std::optional<std::string> arguments_object(const std::optional<jinja::Value>& given) {
  if (!given || given->is_none()) return "{}";
  if (given->is_text()) {  // JSON in a string
    if (trimmed_blanks(given->text()).empty()) return "{}";
    return read_object(given->text()) ? std::optional(given->text()) : std::nullopt;
  }
  if (!given->is_map()) return std::nullopt;
  jinja::Budget budget(std::numeric_limits<uint64_t>::max());
  return to_json(*given, {}, budget);
}

}  // namespace

void ToolCallFinder::tell(size_t size, Found& found) {
  found.text.append(waiting_, 0, size);
  waiting_.erase(0, size);
}

/// False when the text is no call.
bool ToolCallFinder::add_call(std::string_view body, bool known_only, Found& found) {
  body = trimmed_blanks(body);
  const auto written = body.starts_with('{') ? read_json_call(body) : read_lined_call(body);
  if (!written) return false;
  const auto& [name, arguments] = *written;
  const bool known = std::find(names_.begin(), names_.end(), name) != names_.end();
  if (known_only && (!known || !arguments)) return false;
  auto object = arguments_object(arguments);
  if (!object) return false;
  found.calls.push_back({name, std::move(*object)});
  ++calls_;
  return true;
}

ToolCallFinder::Found ToolCallFinder::push(std::string_view text) {
  Found found;
  waiting_ += text;
  if (names_.empty()) {
    tell(waiting_.size(), found);
    return found;
  }
  if (!begun_) {
    const size_t first = waiting_.find_first_not_of(kBlanks);
    if (first == waiting_.npos) return found;
    begun_ = true;
    object_ = waiting_[first] == '{';
  }
  if (object_) return found;
  for (;;) {
    const size_t open = waiting_.find(kOpen);
    if (open == waiting_.npos) {
      tell(waiting_.size() - may_begin_call(waiting_), found);
      return found;
    }
    const size_t close = waiting_.find(kClose, open);
    if (close == waiting_.npos) {
      // The blanks before a call belong to it.
      const size_t last = waiting_.substr(0, open).find_last_not_of(kBlanks);
      tell(last == waiting_.npos ? 0 : last + 1, found);
      return found;
    }
    const size_t inside = open + kOpen.size(), end = close + kClose.size();
    const std::string_view whole = waiting_;
    if (add_call(whole.substr(inside, close - inside), false, found)) {
      const size_t last = whole.substr(0, open).find_last_not_of(kBlanks);
      found.text.append(waiting_, 0, last == waiting_.npos ? 0 : last + 1);
      waiting_.erase(0, end);
    } else {
      tell(end, found);
    }
  }
}

ToolCallFinder::Found ToolCallFinder::finish() {
  Found found;
  const size_t open = waiting_.find(kOpen);
  if (object_ && add_call(waiting_, true, found)) {
    waiting_.clear();
  } else if (open != waiting_.npos && !object_ &&
             add_call(std::string_view(waiting_).substr(open + kOpen.size()), true, found)) {
    // A stop that took the end of the tag.
    found.text = waiting_.substr(0, open);
    waiting_.clear();
  } else if (calls_ > 0 && waiting_.find_first_not_of(kBlanks) == waiting_.npos) {
    waiting_.clear();
  } else {
    tell(waiting_.size(), found);
  }
  return found;
}

}  // namespace syrinx
