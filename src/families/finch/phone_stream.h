// The symbols that finch speaks: one for each phone of a libflite utterance, with prosody classes
// that follow from the phone's place in its word and phrase. The trainer's data tool and the
// server's text front end both call this code. So the model's input at run time equals that in
// training.
//
// Needs only libflite and the standard library. Thread-compatible: no state.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "families/finch/flite_c.h"

namespace syrinx::finch {

/// One symbol of the aligned text stream.
struct PhoneSymbol {
  int16_t phone = 0;   ///< index in phone_names(); 0: padding after the end
  int16_t phrase = 0;  ///< class of (kind of phrase, syllables left in it), below kPhraseClasses
  int16_t place = 0;   ///< class of (syllables since phrase start, place in word, content word)
  int32_t word = -1;   ///< index of the word in the utterance; -1: a pause
  int32_t token = -1;  ///< index of the token from which the word was read; within a Segment, index
                       ///< of the sentence's piece; -1: a pause
  int16_t lift = 0;    ///< rise of the pitch in cents, in a word with an accent; otherwise 0
};

inline constexpr int kPhraseClasses = 13;  ///< padding, then 3 kinds x 4 counts of syllables left
/// The phrase class if the end of the phrase is unknown, in text that arrives word by word.
inline constexpr int kUnknownPhrase = kPhraseClasses;
inline constexpr int kPlaceClasses =
    26;  ///< padding, 3 counts of syllables before x 4 places in the word x content or not, pause

/// Returns names of phones by id: "ah", "ah1" (stressed), "pau.end", ...; entry 0 is padding.
const std::vector<std::string_view>& phone_names();

/// Sets phrase classes to kUnknownPhrase if they depend on more text than the symbol's word and the
/// next one. So whole text has the same classes as text that arrives word by word. `whole`: the end
/// of the utterance is also the end of a phrase.
void keep_near_phrases(std::vector<PhoneSymbol>& symbols, bool whole);

/// Makes a word accented: it becomes a content word, and its first vowel is stressed if it has no
/// stress. Its stressed syllable gets a lift, and the neighbouring syllables a smaller one. `word`:
/// all symbols of the word.
void make_strong(std::span<PhoneSymbol> word);

/// Returns the symbols of an utterance that has the relations Segment, SylStructure and Phrase.
std::vector<PhoneSymbol> phone_stream(const cst_utterance* utterance, bool rising_end);

}  // namespace syrinx::finch
