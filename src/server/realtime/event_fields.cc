#include "server/realtime/event_fields.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx {

void EventFields::refuse(const char* name, const std::string& message, const char* code) const {
  throw ApiError{.message = message, .param = path(name), .code = code};
}

void EventFields::missing(const char* name) const {
  refuse(name, concat("Missing required parameter: '", path(name), "'."),
         "missing_required_parameter");
}

void EventFields::wrong_type(const char* name, const char* want) const {
  refuse(name,
         concat("Invalid type for '", path(name), "': expected ", want, ", got ",
                object_.at(name).type_name(), "."),
         "invalid_type");
}

const JsonIn* EventFields::find(const char* name) const {
  const auto at = object_.find(name);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::optional<std::string> EventFields::text(const char* name) const {
  const JsonIn* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_string()) wrong_type(name, "a string");
  return value->get<std::string>();
}

std::string EventFields::need_text(const char* name) const {
  auto value = text(name);
  if (!value) missing(name);
  return std::move(*value);
}

std::optional<bool> EventFields::flag(const char* name) const {
  const JsonIn* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_boolean()) wrong_type(name, "true or false");
  return value->get<bool>();
}

std::optional<double> EventFields::number(const char* name, double low, double high) const {
  const JsonIn* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_number()) wrong_type(name, "a number");
  const double number = value->get<double>();
  if (!(number >= low && number <= high)) {
    refuse(name, concat("'", path(name), "' must be between ", low, " and ", high, "."));
  }
  return number;
}

std::optional<int64_t> EventFields::integer(const char* name, int64_t low, int64_t high) const {
  const JsonIn* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_number()) wrong_type(name, "a number");
  const double number = value->get<double>();  // 2^53 is far away
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high))) {
    refuse(name, concat("'", path(name), "' must be between ", low, " and ", high, "."));
  }
  if (static_cast<double>(static_cast<int64_t>(number)) != number) wrong_type(name, "an integer");
  return static_cast<int64_t>(number);
}

int64_t EventFields::need_integer(const char* name, int64_t low, int64_t high) const {
  const auto value = integer(name, low, high);
  if (!value) missing(name);
  return *value;
}

std::optional<std::string> EventFields::choice(
    const char* name, std::initializer_list<std::string_view> choices) const {
  auto value = text(name);
  if (!value || std::find(choices.begin(), choices.end(), *value) != choices.end()) return value;
  std::string all;
  for (const std::string_view each : choices)
    all += (all.empty() ? "'" : ", '") + concat(each, "'");
  refuse(name,
         concat("Invalid value: '", value->substr(0, 100), "'. Supported values are: ", all, "."));
}

std::optional<EventFields> EventFields::object(const char* name) const {
  const JsonIn* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_object()) wrong_type(name, "an object");
  return EventFields(*value, path(name) + ".");
}

EventFields EventFields::need_object(const char* name) const {
  auto value = object(name);
  if (!value) missing(name);
  return std::move(*value);
}

const JsonIn* EventFields::list(const char* name) const {
  const JsonIn* value = find(name);
  if (value != nullptr && !value->is_array()) wrong_type(name, "an array");
  return value;
}

}  // namespace syrinx
