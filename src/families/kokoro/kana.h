// Japanese kana to misaki's phonemes, and numbers to kana. Free functions; any thread. Source:
// misaki 0.9.4, misaki/cutlet.py (its table of kana, _get_single_mapping) and num2kana.py.
#pragma once

#include <string>
#include <string_view>

namespace syrinx::kokoro {

/// Returns whether a character is hiragana, katakana or the mark of a long vowel.
bool is_kana(char32_t c);
/// Replaces katakana by hiragana and keeps other characters.
std::u32string hiragana(std::u32string_view kana);
/// Converts hiragana to phonemes and removes characters without a sound.
std::string kana_phonemes(std::u32string_view hiragana);
/// Writes the long vowels of a spelling as the mark of a long vowel: おはよう becomes おはよー.
std::u32string with_long_vowels(std::u32string_view hiragana);

/// Reads ASCII digits with at most one decimal point: "300" becomes さんびゃく. Numbers with more
/// than 16 digits are read digit by digit.
std::u32string number_in_kana(std::string_view digits);

}  // namespace syrinx::kokoro
