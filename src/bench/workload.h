// Texts and traces for requests: texts of varied lengths, built in or from a file, and traces of
// real traffic. Files are bounded. Faults throw LoadError with file and line. Const after
// loading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A text to speak, with its options. Empty strings mean the target's defaults.
struct Utterance {
  std::string text, voice, language, instructions;
  std::optional<uint64_t> seed;
  std::string fields;  ///< a JSON object of further fields of the body, or empty
};

/// An utterance of a trace, due `at_s` after the start.
struct TracedUtterance {
  double at_s = 0;
  Utterance utterance;
};

inline constexpr size_t kMaxWorkloadBytes = size_t{64} << 20;
inline constexpr size_t kMaxWorkloadLines = 1'000'000;
inline constexpr size_t kMaxTextBytes = size_t{1} << 20;
inline constexpr double kMaxTrace_s = 7 * 86400;

/// Returns English sentences and short paragraphs: 1 to about 60 words, 1 to 20 s of speech.
std::vector<std::string> built_in_texts();

/// Reads one text per line; skips empty lines. `path` is for messages.
std::vector<std::string> parse_texts(std::string_view file, const std::string& path);

/// Reads JSON Lines: {"time": seconds, "text" (or "input"): string, "voice", "language",
/// "instructions", "seed", and any further fields for the body of the request}. Sorted by time;
/// empty lines are skipped. `path` is for messages.
std::vector<TracedUtterance> parse_trace(std::string_view file, const std::string& path);

}  // namespace syrinx
