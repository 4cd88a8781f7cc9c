// Programs espeak-ng that are kept running, as a start of one costs more than what it says. They
// print the phonemes that a program started for the text would print. At most kMostEspeaks run, for
// as many voices and threads. Free function; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

inline constexpr int kMostEspeaks = 8;

/// How espeak-ng reads what it is given.
enum class EspeakInput : uint8_t {
  kText,
  kMarkup,  ///< SSML (-m)
};

/// Phonemes in IPA of each text alone, its lines joined by spaces. Nothing where no kept program
/// can say them: espeak-ng is not installed, all are busy, a text is long (espeak-ng cuts lines of
/// a thousand bytes) or sounds like the border between two. Then a program of its own may. `texts`:
/// a line each.
std::optional<std::vector<std::string>> espeak_kept(std::span<const std::string> texts,
                                                    std::string_view voice, EspeakInput input);

}  // namespace syrinx
