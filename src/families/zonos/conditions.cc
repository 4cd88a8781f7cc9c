#include "families/zonos/conditions.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/ascii.h"
#include "families/zonos/phonemes.h"

namespace syrinx::zonos {
namespace {

constexpr size_t kMostInstructions = 4096;  // longest instructions in bytes
constexpr const char* kSpaces = " \t\n;";

/// Returns the defaults of the authors' make_cond_dict. Other conditions are unconditional.
Conditions default_conditions() {
  return {{"emotion", {0.3077, 0.0256, 0.0256, 0.0256, 0.0256, 0.0256, 0.2564, 0.3077}},
          {"fmax", {22050}},
          {"pitch_std", {20}},
          {"speaking_rate", {15}},
          {"ctc_loss", {0}},
          {"speaker_noised", {0}}};
}

Error fault(std::string what) { return {ErrorCode::kInvalid, std::move(what), "instructions"}; }

/// Parses numbers such as "1,0.5". Returns nullopt for other text.
std::optional<std::vector<double>> parse_numbers(const std::string& text) {
  std::vector<double> out;
  const char* at = text.c_str();
  for (;;) {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at || !(value >= -1e9 && value <= 1e9)) return std::nullopt;
    out.push_back(value);
    if (*end == '\0') return out;
    if (*end != ',') return std::nullopt;
    at = end + 1;
  }
}

/// Reads one item "name=numbers" and stores its numbers.
Status take_condition(const ModelConfig& config, const std::string& item, Conditions& conditions) {
  const size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  const auto& known = config.conditioners;
  const auto found = std::find_if(known.begin(), known.end(), [&](const ConditionerConfig& c) {
    return c.name == name && c.kind != ConditionerConfig::kPhonemes && name != "speaker" &&
           name != "language_id";
  });
  if (equals == item.npos || found == known.end()) {
    return fault("expected conditions such as pitch_std=45 or emotion=1,0,0,0,0,0,0,0, got \"" +
                 item + "\"");
  }
  const std::string value = item.substr(equals + 1);
  if (value == "none" && found->learned) {
    conditions.erase(name);
    return ok_status();
  }
  const auto numbers = parse_numbers(value);
  if (!numbers || std::ssize(*numbers) != found->inputs) {
    return fault(concat(name, " takes ", found->inputs, " number", found->inputs == 1 ? "" : "s",
                        ", got \"", value, "\""));
  }
  for (const double x : *numbers) {
    if (x < found->min || x > found->max) {
      return fault(name + " must be between " + std::to_string(found->min) + " and " +
                   std::to_string(found->max));
    }
  }
  conditions[name] = *numbers;
  return ok_status();
}

}  // namespace

Result<std::string> language_of(const std::string& language) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kShort{{{"", "en-us"},
                                                                                 {"auto", "en-us"},
                                                                                 {"en", "en-us"},
                                                                                 {"fr", "fr-fr"},
                                                                                 {"zh", "cmn"},
                                                                                 {"no", "nb"}}};
  std::string code = lower_ascii(language);
  const auto meant = std::ranges::find(kShort, code, &decltype(kShort)::value_type::first);
  if (meant != kShort.end()) code = meant->second;
  const char* param = "language";
  if (code == "ja") {
    return Error{ErrorCode::kUnsupported,
                 "Japanese is not supported: the reading of its characters is missing", param};
  }
  if (std::ranges::find(languages(), code) == languages().end()) {
    return Error{ErrorCode::kUnsupported,
                 "unknown language \"" + language + "\"; it is a code such as en-us, de, fr-fr",
                 param};
  }
  return code;
}

double language_number(const std::string& code) {
  return static_cast<double>(std::ranges::find(languages(), code) - languages().begin());
}

Result<Conditions> conditions_of(const ModelConfig& config, const std::string& instructions) {
  if (instructions.size() > kMostInstructions) return fault("the instructions are too long");
  Conditions conditions = default_conditions();
  for (size_t at = instructions.find_first_not_of(kSpaces); at != instructions.npos;) {
    const size_t end = std::min(instructions.find_first_of(kSpaces, at), instructions.size());
    const Status taken = take_condition(config, instructions.substr(at, end - at), conditions);
    if (!taken.ok()) return taken.error();
    at = instructions.find_first_not_of(kSpaces, end);
  }
  if (auto& emotion = conditions["emotion"]; !emotion.empty()) {
    const double sum = std::accumulate(emotion.begin(), emotion.end(), 0.0);
    if (!(sum > 0)) return fault("emotion: the numbers must not all be 0");
    for (double& x : emotion) x /= sum;
  }
  return conditions;
}

Conditions needed(const ModelConfig& config, Conditions conditions) {
  for (const ConditionerConfig& part : config.conditioners) {
    if (part.learned) conditions.erase(part.name);
  }
  return conditions;
}

}  // namespace syrinx::zonos
