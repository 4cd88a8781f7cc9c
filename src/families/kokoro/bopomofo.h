// Phonemes of Chinese words in the alphabet of Kokoro-82M-v1.1-zh: bopomofo, characters in place of
// finals of several sounds, and digits for tones. Free functions; any thread.
// Source: misaki 0.9.4, zh_frontend.py (ZH_MAP, _get_initials_finals, _merge_erhua).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace syrinx::kokoro {

/// Returns the phonemes of a word of these syllables, as "zhong1"; characters without a syllable
/// stay as they are. `r`: the last syllable is an r at the end of the one before.
std::string bopomofo_of(std::u32string_view word, std::span<const std::string> syllables, bool r);

}  // namespace syrinx::kokoro
