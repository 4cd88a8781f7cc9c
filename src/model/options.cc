#include "model/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "model/pipeline.h"

namespace syrinx {
namespace {

constexpr std::array<std::string_view, 3> kFlowNames = {"auto", "causal", "full"};

/// Returns a number as text. Integers have all their digits, not an exponent as in 2.14748e+09.
std::string number_text(double number) {
  const bool whole = std::trunc(number) == number && std::fabs(number) < 1e15;
  return whole ? concat(static_cast<int64_t>(number)) : concat(number);
}

Error lacks_option(const PipelineInfo& info, size_t row) {
  const std::string name(kRequestOptions[row].name);
  const std::string instead = info.offers.instead_of_row(row);
  const std::string others = offered_options(info.offers);
  return {
      ErrorCode::kUnsupported,
      concat("the model '", info.model, "' does not support '", name, "'; ",
             instead.empty() ? "leave it out" : instead,
             others.empty() ? ""
                            : concat(" (further options that this model supports: ", others, ")")),
      name};
}

/// Returns the bounds rounded to floats: 0.01f is less than 0.01.
Bounds in_floats(const Bounds& bounds) {
  return {static_cast<float>(bounds.low), static_cast<float>(bounds.high)};
}

Status check_number(const PipelineInfo& info, const RequestOption& option, const Bounds& bounds,
                    double value) {
  const bool possible = in_floats(option.bounds).holds(value);
  if (possible && bounds.holds(value)) return ok_status();
  const Bounds both{std::max(bounds.low, option.bounds.low),
                    std::min(bounds.high, option.bounds.high)};
  return Error{possible ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
               concat("'", option.name, "' must be ", bounds_text(both),
                      possible ? concat(" with the model '", info.model, "'") : "", ", not ",
                      number_text(value)),
               std::string(option.name)};
}

}  // namespace

std::span<const RequestOption> request_options() { return kRequestOptions; }

const RequestOption& request_option(std::string_view name) {
  const auto at = std::find_if(kRequestOptions.begin(), kRequestOptions.end(),
                               [name](const RequestOption& each) { return each.name == name; });
  SYRINX_CHECK(at != kRequestOptions.end(), "unknown option ", name);
  return *at;
}

std::span<const std::string_view> flow_names() { return kFlowNames; }

std::string option_sentence(const RequestOption& option) {
  std::string out = concat(option.help, ".");
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string bounds_text(const Bounds& bounds) {
  if (bounds.low == bounds.high) return number_text(bounds.low);
  if (bounds.high >= kNoOptionBound) return concat("at least ", number_text(bounds.low));
  return concat("between ", number_text(bounds.low), " and ", number_text(bounds.high));
}

std::optional<Bounds> Offers::of_row(size_t row) const {
  const RequestOption& option = kRequestOptions[row];
  if (bounds_[row]) return bounds_[row];
  const bool lacks = option.models == OptionModels::kOffering || instead_.contains(row);
  return lacks ? option.otherwise : Bounds{};
}

std::string Offers::instead_of_row(size_t row) const {
  const auto at = instead_.find(row);
  return at == instead_.end() ? "" : at->second;
}

std::string offered_options(const Offers& offers) {
  std::string out;
  for (size_t row = 0; row < kRequestOptions.size(); ++row) {
    const RequestOption& option = kRequestOptions[row];
    // Skips options that work with every model, e.g. speed: the server can stretch the audio.
    if (option.models == OptionModels::kAny || option.otherwise || !offers.of_row(row)) continue;
    out += concat(out.empty() ? "'" : ", '", option.name, "'");
  }
  return out;
}

Status check_options(const PipelineInfo& info, const SpeechRequest& request) {
  Status status = ok_status();
  for_set_options(request, [&](const RequestOption& option, const auto& value) {
    if (!status) return;
    const auto row = static_cast<size_t>(&option - kRequestOptions.data());
    const auto bounds = info.offers.of_row(row);
    if (!bounds) {
      status = lacks_option(info, row);
    } else if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      if (!std::same_as<std::remove_cvref_t<decltype(value)>, bool>) {
        status = check_number(info, option, *bounds, static_cast<double>(value));
      }
    }
  });
  return status;
}

}  // namespace syrinx
