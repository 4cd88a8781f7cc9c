// SpeechBody: parses a body, and splits a batch into items.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/request/speech_call.h"
#include "text/surrogates.h"

namespace syrinx {
namespace {

using nlohmann::json;

/// Most values in a body. A value takes far more memory than its text.
constexpr size_t kMaxValues = 200'000;

/// Estimates the number of values that the parser would make.
size_t count_values(std::string_view body) {
  size_t count = 0;
  bool in_string = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (!in_string && (c == ',' || c == '[' || c == '{')) ++count;
  }
  return count;
}

}  // namespace

SpeechBody::SpeechBody(json fields) {
  if (const auto model = fields.find("model"); model != fields.end() && model->is_string()) {
    model_ = model->get<std::string>();
  }
  fields_ = std::make_shared<const json>(std::move(fields));
}

std::variant<SpeechBody, ApiError> SpeechBody::parse(std::string_view body) {
  if (count_values(body) > kMaxValues) {
    return ApiError{.message = concat("The JSON body has more than ", kMaxValues, " values."),
                    .code = "invalid_json"};
  }
  const std::optional<std::string> mended = mend_halves(body);
  if (mended) body = *mended;
  json parsed;
  try {
    parsed = json::parse(body);
  } catch (const json::parse_error& error) {
    return ApiError{
        .message = concat("The body is not valid JSON in UTF-8 (near byte ", error.byte, ")."),
        .code = "invalid_json"};
  } catch (const json::exception&) {  // a number is outside the range of all types
    return ApiError{.message = "The body has a number that is out of range.",
                    .code = "invalid_json"};
  }
  if (!parsed.is_object()) {
    return ApiError{.message = "The body must be a JSON object.", .code = "invalid_json"};
  }
  return SpeechBody(std::move(parsed));
}

std::variant<std::vector<SpeechBody::Item>, ApiError> SpeechBody::items() const {
  const auto items = fields_->find("items");
  if (items == fields_->end() || !items->is_array() || items->empty() ||
      items->size() > kMaxItems) {
    return bad_field("items", concat("'items' must be a list of 1 to ", kMaxItems, " requests."));
  }
  json common = *fields_;
  common.erase("items");
  std::vector<Item> out;
  for (const json& item : *items) {
    if (!item.is_object()) {
      out.push_back(bad_field("items", "The item must be a JSON object."));
      continue;
    }
    json fields = common;
    for (const auto& [name, value] : item.items()) {
      if (!value.is_null()) fields[name] = value;
    }
    fields["model"] = common.value("model", json());  // all items use the model of the batch
    fields["stream"] = false;                         // each item is answered when complete
    out.push_back(SpeechBody(std::move(fields)));
  }
  return out;
}

}  // namespace syrinx
