// Keeps espeak-ng processes running, because starting one takes longer than reading a text. They
// print the same phonemes as a process started for a single text. At most kMostEspeaks run, for all
// voices and threads. Free function; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

inline constexpr int kMostEspeaks = 8;

/// The form of espeak-ng's input.
enum class EspeakInput : uint8_t {
  kText,
  kMarkup,  ///< SSML (-m)
};

/// Returns the phonemes, in IPA, of each of `texts` (one line each); output lines are joined by
/// spaces. Returns nullopt if no kept process can read them: espeak-ng is not installed, all are
/// busy, or a text is too long (espeak-ng cuts lines at a thousand bytes) or sounds like the marker
/// between texts. A process that the caller starts for the texts may still succeed.
std::optional<std::vector<std::string>> espeak_kept(std::span<const std::string> texts,
                                                    std::string_view voice, EspeakInput input);

}  // namespace syrinx
