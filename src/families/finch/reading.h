// How one written token is read: amounts, units, addresses, dates, ranges, signs. libflite reads
// plain numbers, ordinals, times and abbreviations itself; this adds what it lacks. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace syrinx::finch {

/// What stands around a token, for readings that depend on it. Cores: without punctuation.
struct Neighbours {
  std::string_view before;  ///< core of the token before, as written; empty at the start
  std::string_view after;
};

/// A reading and whether it used up the token after, too ("$5 million").
struct Reading {
  std::string text;  ///< words that libflite can read; empty when nothing is speakable
  bool took_next = false;
};

/// `core` is folded (fold.h) and has no spaces and no punctuation around it.
Reading read_token(std::string_view core, const Neighbours& near);

/// True for a number as written: "1,250", "-3.5".
bool is_number(std::string_view text);

/// True for abbreviations that end in a dot without ending a sentence: "Mr", "e.g", "J".
bool is_abbreviation(std::string_view core);

}  // namespace syrinx::finch
