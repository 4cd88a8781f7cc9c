// One row of the table of options (kRequestOptions in model/request.h): a property of a request
// that a client can set by name. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace syrinx {

struct SpeechRequest;
enum class FlowMode : uint8_t;

/// Inclusive bounds of a number; flags and texts have no bounds.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  /// Returns whether `value` is within the bounds; false for NaN.
  constexpr bool holds(double value) const { return value >= low && value <= high; }
  constexpr float nearest(float value) const {
    return std::clamp(value, static_cast<float>(low), static_cast<float>(high));
  }
};

/// Returns a reference to a value of type T in a request.
template <typename T>
struct OptionMember {
  T& (*of)(SpeechRequest&);
  T& operator()(SpeechRequest& request) const { return of(request); }
  const T& operator()(const SpeechRequest& request) const {
    return of(const_cast<SpeechRequest&>(request));
  }
  bool operator==(const OptionMember&) const = default;
};

/// The field that holds the value of an option. Its value in a default SpeechRequest means "not
/// set".
using OptionField =
    std::variant<OptionMember<std::optional<float>>, OptionMember<std::optional<int>>,
                 OptionMember<std::optional<bool>>, OptionMember<float>, OptionMember<int>,
                 OptionMember<uint64_t>, OptionMember<std::string>, OptionMember<FlowMode>>;

/// Kinds of HTTP bodies, as bits.
enum RequestBody : unsigned {
  kSpeechBody = 1,
  kChatBody = 2,
  kCompletionBody = 4,
  kWrittenBodies = kChatBody | kCompletionBody,
  kEveryBody = kSpeechBody | kWrittenBodies
};

/// The models that have an option.
enum class OptionModels : uint8_t {
  kAny,      ///< any model may have it, within the table's bounds; each family accepts or refuses
             ///< the option
  kOffering  ///< models that list the option in their Offers, within the bounds given there
};

/// One option: its names, its field in the request, its bounds and where it is allowed.
struct RequestOption {
  std::string_view name;           ///< name of the field in bodies and in errors
  std::string_view argument = {};  ///< argument of the command line ("-l,--language"); empty: none
  OptionField field;
  std::string_view help;          ///< a phrase in small letters, without a full stop
  Bounds bounds = {};             ///< values that at least one model accepts
  unsigned bodies = 0;            ///< RequestBody bits: bodies with this field
  bool own_reader = false;        ///< separate code reads the field from bodies (voices, languages)
  bool minus_one_is_off = false;  ///< in bodies -1 means 0, as other servers write -1 for "off"
  std::string_view unit = {};     ///< e.g. "frames"
  OptionModels models = OptionModels::kAny;
  /// Bounds of a kOffering option for models that do not offer it. Unset: such models refuse it.
  std::optional<Bounds> otherwise = {};
};

}  // namespace syrinx
