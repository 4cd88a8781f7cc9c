// Phonemes of Chinese words in the alphabet of Kokoro-82M-v1.1-zh: bopomofo, Chinese characters for
// finals with several sounds, and digits for tones. Free functions; any thread. Source: misaki
// 0.9.4, zh_frontend.py (ZH_MAP, _get_initials_finals, _merge_erhua).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace syrinx::kokoro {

/// Returns the phonemes of a word with these syllables, e.g. "zhong1". Keeps characters without a
/// syllable. `r`: the last syllable is an r that joins the syllable before it.
std::string bopomofo_of(std::u32string_view word, std::span<const std::string> syllables, bool r);

}  // namespace syrinx::kokoro
