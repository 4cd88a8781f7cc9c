// The options of a request that are one value each, in one table: names, bounds, the fact of
// PipelineInfo that says that a model has the option, and help. From the table follow the fields of
// HTTP bodies and their schema, arguments of the command line, refusals, the bytes of a request and
// the table in docs/guide/http.md. A new option is a field of SpeechRequest, a row here, and the
// family that has it. Plain data and pure functions; any thread.
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "model/pipeline.h"
#include "model/request.h"

namespace syrinx {

/// Inclusive; a flag or a text has none.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  /// False for NaN.
  bool holds(double value) const { return value >= low && value <= high; }
};

/// Where the value of an option is kept. What it is in a default SpeechRequest means "not set".
using OptionField =
    std::variant<std::optional<float> SpeechRequest::*, std::optional<int> SpeechRequest::*,
                 std::optional<bool> SpeechRequest::*, float SpeechRequest::*, int SpeechRequest::*,
                 uint64_t SpeechRequest::*, std::string SpeechRequest::*,
                 FlowMode SpeechRequest::*>;

/// Bodies of HTTP requests, as bits.
enum RequestBody : unsigned { kSpeechBody = 1, kChatBody = 2, kCompletionBody = 4 };

struct RequestOption {
  std::string_view name;           ///< of the field in bodies, and of errors
  std::string_view argument = {};  ///< of the command line ("-l,--language"); empty: none
  OptionField field;
  std::string_view help;          ///< a phrase in small letters, without a full stop
  Bounds bounds = {};             ///< of every model
  unsigned bodies = 0;            ///< RequestBody bits: bodies with this field
  bool own_reader = false;        ///< the field is read by code of its own (voices, languages)
  bool minus_one_is_off = false;  ///< in bodies -1 means 0, as other servers write "off"
  std::string_view unit = {};     ///< "frames"
  /// Bounds of a model; nothing: it does not have the option. Null: the table's bounds, and only
  /// the family knows whether the model has the option.
  std::optional<Bounds> (*offer)(const PipelineInfo&) = nullptr;
};

/// In the order of help and documents; the order is part of request_bytes().
std::span<const RequestOption> request_options();
/// The option of a name that is in the table; InternalError for others.
const RequestOption& request_option(std::string_view name);

/// Names of the modes of a flow, in the order of FlowMode.
std::span<const std::string_view> flow_names();

/// Calls f(option, value) for each option that is set, with its plain value: float, int, bool,
/// uint64_t, std::string, or the std::string_view of a flow's mode.
template <typename F>
void for_set_options(const SpeechRequest& request, F&& f) {
  const SpeechRequest plain;
  for (const RequestOption& option : request_options()) {
    std::visit(
        [&](auto field) {
          const auto& value = request.*field;
          using Value = std::remove_cvref_t<decltype(value)>;
          if (value == plain.*field) return;
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

/// The options that few models have, of those that this one has: "'flow', 'speaker'".
std::string offered_options(const PipelineInfo& info);

/// Compares each option that is set with the table and with the model. kUnsupported: the model
/// lacks the option or takes less of it; kInvalid: outside the bounds of every model. The error
/// names the option, what the model offers and what to do.
Status check_options(const PipelineInfo& info, const SpeechRequest& request);

/// Its help as a sentence: "Same seed, same output."
std::string option_sentence(const RequestOption& option);

/// "between 0 and 2", "at least 1"; numbers with all their digits.
std::string bounds_text(const Bounds& bounds);

}  // namespace syrinx
