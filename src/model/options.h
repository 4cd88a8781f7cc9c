// Functions on the table of options (kRequestOptions in model/request.h): lists the options that a
// model offers, and checks a request against them. Plain data and pure functions; any thread.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

struct PipelineInfo;

/// The name of an option, as a literal. A name that the table lacks does not compile.
class OptionName {
 public:
  consteval OptionName(const char* name) {  // NOLINT(google-explicit-constructor)
    while (kRequestOptions[row_].name != name) ++row_;
  }
  constexpr size_t row() const { return row_; }

 private:
  size_t row_ = 0;
};

/// An option that a model supports, and the values that it accepts.
struct Offer {
  OptionName name;
  Bounds bounds = {};
};

/// A model's options among those that only some models have (OptionModels::kOffering).
class Offers {
 public:
  Offers() = default;
  void add(OptionName name, Bounds bounds = {}) { bounds_[name.row()] = bounds; }
  void add(std::initializer_list<Offer> offers) {
    for (const Offer& offer : offers) add(offer.name, offer.bounds);
  }
  /// Removes options from the model. `instead`: advice to the client in place of these options,
  /// e.g. "write tags into the text".
  void lack(std::initializer_list<OptionName> names, const std::string& instead) {
    for (const OptionName& name : names) instead_[name.row()] = instead;
  }
  bool has(OptionName name) const { return bounds_[name.row()].has_value(); }
  /// Returns the model's bounds, or else the table's bounds for models that do not offer the
  /// option. Returns nullopt if the model lacks the option. Infinite bounds allow any value.
  std::optional<Bounds> of(OptionName name) const { return of_row(name.row()); }
  std::optional<Bounds> of_row(size_t row) const;
  /// Returns the advice that lack() stored for the option. Empty string: leave the option out.
  std::string instead_of_row(size_t row) const;

 private:
  std::array<std::optional<Bounds>, kRequestOptions.size()> bounds_ = {};
  std::map<size_t, std::string> instead_;
};

/// Returns all options, in the order of the table.
std::span<const RequestOption> request_options();
/// Returns the option with that name. Throws InternalError if the table lacks the name.
const RequestOption& request_option(std::string_view name);

/// Returns the names of the modes of a flow, in the order of FlowMode.
std::span<const std::string_view> flow_names();

/// Calls f(option, value) for each option that is set. The value is a plain float, int, bool,
/// uint64_t or std::string, or the std::string_view of a flow's mode.
template <typename F>
void for_set_options(const SpeechRequest& request, F&& f) {
  const SpeechRequest plain;
  for (const RequestOption& option : request_options()) {
    std::visit(
        [&](auto field) {
          const auto& value = field(request);
          using Value = std::remove_cvref_t<decltype(value)>;
          if (value == field(plain)) return;
          if constexpr (std::same_as<Value, FlowMode>) {
            f(option, flow_names()[static_cast<size_t>(value)]);
          } else if constexpr (requires {
                                 *value;
                                 value.has_value();
                               }) {
            f(option, *value);
          } else {
            f(option, value);
          }
        },
        option.field);
  }
}

/// Returns a list of this model's options that only some models have: "'flow', 'speaker'".
std::string offered_options(const Offers& offers);

/// Checks each set option against the table and the model. Returns kUnsupported if the model lacks
/// the option or only accepts a smaller range. Returns kInvalid if the value is outside the bounds
/// of every model. The error has the option, the model's bounds and advice.
Status check_options(const PipelineInfo& info, const SpeechRequest& request);

/// Returns the help text of an option as a sentence: "Same seed, same output."
std::string option_sentence(const RequestOption& option);

/// Returns bounds as text: "between 0 and 2" or "at least 1"; numbers have all their digits.
std::string bounds_text(const Bounds& bounds);

}  // namespace syrinx
