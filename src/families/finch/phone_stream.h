// The symbols that finch speaks: one for each phone of a libflite utterance, with prosody classes
// that follow from the phone's place in its word and phrase. The trainer's data tool and the
// server's text front end both call this code, so that the model's input at run time is the same as
// in training.
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
  int16_t phrase = 0;  ///< phrase kind x syllables left in the phrase, 0..kPhraseClasses-1
  int16_t place = 0;   ///< syllables from phrase start x place in word x content word
  int32_t word = -1;   ///< index of the word in the utterance; -1: a pause
  int32_t token = -1;  ///< index of the token from which the word was read; within a Segment, index
                       ///< of the sentence's piece; -1: a pause
  int16_t lift = 0;    ///< cents by which the pitch rises, in a word with an accent; else 0
};

inline constexpr int kPhraseClasses = 13;  ///< 0 padding; 1 + kind (3) x syllables left (4)
/// The class of a phrase whose end is unknown, in text that arrives word by word.
inline constexpr int kUnknownPhrase = kPhraseClasses;
inline constexpr int kPlaceClasses =
    26;  ///< 0 padding; 1 + start (3) x word (4) x content; 25 pause

/// Returns the names of the phones by id, e.g. "ah", "ah1" (stressed), "pau.end"; row 0 is padding.
const std::vector<std::string_view>& phone_names();

/// Sets to kUnknownPhrase all phrase classes that depend on more text than the symbol's word and
/// the next, so that they are the same for text that arrives word by word. `whole`: the utterance's
/// end is also a phrase's end.
void keep_near_phrases(std::vector<PhoneSymbol>& symbols, bool whole);

/// Gives a word an accent: it becomes a content word; if it has no stress, its first vowel is
/// stressed; its stressed syllable is lifted, and the neighbouring syllables a little. `word`: all
/// its symbols.
void make_strong(std::span<PhoneSymbol> word);

/// Returns the symbols of an utterance that has its Segment, SylStructure and Phrase relations.
std::vector<PhoneSymbol> phone_stream(const cst_utterance* utterance, bool rising_end);

}  // namespace syrinx::finch
