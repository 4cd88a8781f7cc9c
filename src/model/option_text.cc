#include "model/option_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "model/options.h"

namespace syrinx {
namespace {

/// Sets `value` to the value that a text states. Returns false if the text is not of this type.
template <typename T>
bool take_text(std::string_view text, T& value) {
  return parse_number(text, value);
}

bool take_text(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool take_text(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}

bool take_text(std::string_view text, FlowMode& value) {
  const auto names = flow_names();
  const auto at = std::find(names.begin(), names.end(), text);
  if (at == names.end()) return false;
  value = static_cast<FlowMode>(at - names.begin());
  return true;
}

template <typename T>
bool take_text(std::string_view text, std::optional<T>& value) {
  T got{};
  if (!take_text(text, got)) return false;
  value = std::move(got);
  return true;
}

const char* expected(const OptionField& field) {
  if (std::holds_alternative<OptionMember<FlowMode>>(field)) return "auto, causal or full";
  if (std::holds_alternative<OptionMember<std::optional<bool>>>(field)) return "true or false";
  const bool fraction = std::holds_alternative<OptionMember<float>>(field) ||
                        std::holds_alternative<OptionMember<std::optional<float>>>(field);
  return fraction ? "a number" : "an integer";
}

/// Returns whether an option is only for the written answers of a text model, not for speech.
bool only_written(const RequestOption& option) {
  return option.bodies != 0 && (option.bodies & kSpeechBody) == 0;
}

}  // namespace

Status set_option(SpeechRequest& request, std::string_view name, std::string_view value) {
  const auto options = request_options();
  const auto option = std::find_if(options.begin(), options.end(), [name](const auto& each) {
    return each.name == name && !only_written(each);
  });
  if (option == options.end()) {
    return Error{ErrorCode::kInvalid, concat("unknown option '", name, "'"), std::string(name)};
  }
  if (!std::visit([&](auto place) { return take_text(value, place(request)); }, option->field)) {
    return Error{
        ErrorCode::kInvalid,
        concat("invalid '", name, "': expected ", expected(option->field), ", not '", value, "'"),
        std::string(name)};
  }
  return ok_status();
}

}  // namespace syrinx
