#include "server/http/openapi.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "model/options.h"

namespace syrinx {
namespace {

using Schema = nlohmann::ordered_json;

/// Returns a bound as JSON; a whole number becomes an integer.
Schema bound_of(double bound) {
  if (std::trunc(bound) == bound) return static_cast<int64_t>(bound);
  return bound;
}

/// Returns the schema of the field's values. The value null is valid for every field.
Schema schema_of(const OptionField& field) {
  if (std::holds_alternative<OptionMember<FlowMode>>(field)) {
    Schema names = Schema::array();
    for (const std::string_view name : flow_names()) names.push_back(name);
    names.push_back(nullptr);
    return {{"type", {"string", "null"}}, {"enum", names}};
  }
  if (std::holds_alternative<OptionMember<uint64_t>>(field)) {
    return {{"type", {"integer", "null"}},
            {"minimum", -1},
            {"maximum", std::numeric_limits<uint64_t>::max()}};
  }
  const bool number = std::holds_alternative<OptionMember<float>>(field) ||
                      std::holds_alternative<OptionMember<std::optional<float>>>(field);
  const bool integer = std::holds_alternative<OptionMember<int>>(field) ||
                       std::holds_alternative<OptionMember<std::optional<int>>>(field);
  const bool flag = std::holds_alternative<OptionMember<std::optional<bool>>>(field);
  const char* type = number ? "number" : integer ? "integer" : flag ? "boolean" : "string";
  return {{"type", {type, "null"}}};
}

Schema schema_of(const RequestOption& option) {
  Schema out = schema_of(option.field);
  if (std::isfinite(option.bounds.low)) {
    out["minimum"] = bound_of(option.minus_one_is_off ? -1 : option.bounds.low);
    out["maximum"] = bound_of(option.bounds.high);
  }
  out["description"] = option_sentence(option);
  return out;
}

std::string whole_document() {
  Schema document = Schema::parse(openapi_file());
  Schema& schemas = document["components"]["schemas"];
  for (const auto& [body, name] : {std::pair(kSpeechBody, "Speech"), std::pair(kChatBody, "Chat"),
                                   std::pair(kCompletionBody, "Completion")}) {
    Schema& properties = schemas[name]["properties"];
    for (const RequestOption& option : request_options()) {
      const std::string key(option.name);
      if ((option.bodies & body) != 0 && !properties.contains(key)) {
        properties[key] = schema_of(option);
      }
    }
  }
  return document.dump(1);
}

}  // namespace

const std::string& openapi_document() {
  static const std::string document = whole_document();
  return document;
}

}  // namespace syrinx
