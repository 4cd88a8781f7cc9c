// The word lists of the English reader's rules, from tables/words.txt. For text/english only. Call
// from any thread: the first use reads the lists, which then never change.
#pragma once

#include <string_view>

namespace syrinx::english {

/// The lists. Each list is a text that has a space before, between and after its words, as listed()
/// requires.
struct WordLists {
  std::string_view top_domains;       ///< top domains of addresses without a scheme
  std::string_view elements;          ///< symbols of chemical elements
  std::string_view formulas;          ///< formulas without a digit that are not also English words
  std::string_view formula_groups;    ///< letters of formulas before a digit: "SO" in "SO2"
  std::string_view molecules;         ///< molecules of one element
  std::string_view positive_ions;     ///< positive ions, recognised before a plus
  std::string_view negative_ions;     ///< negative ions, recognised before a minus
  std::string_view element_names;     ///< elements that may have a mass number: "uranium-238"
  std::string_view code_names;        ///< words before a code that is read digit by digit
  std::string_view numbered_things;   ///< words before "number" and a code: "order number 1042"
  std::string_view code_links;        ///< words between the name of a code and the code
  std::string_view numbered_places;   ///< words before a number that is a name: "room 237"
  std::string_view call_words;        ///< words before a telephone number
  std::string_view shell_commands;    ///< words before the flag of a command
  std::string_view lettered;          ///< words before a letter that is a name: "Section 5 A"
  std::string_view payment_words;     ///< words before an amount of money: "paid 300 K"
  std::string_view after_amounts;     ///< words after "the $5 million" that begin no noun phrase
  std::string_view counted_things;    ///< words after a count: "7 B parameters"
  std::string_view day_cues;          ///< words before the short name of a day or month
  std::string_view pronouns;          ///< pronouns that precede a verb
  std::string_view modals;            ///< words before the infinitive of a verb
  std::string_view articles;          ///< articles and possessives
  std::string_view read_auxiliaries;  ///< words before "read" as a participle
  std::string_view read_adverbs;      ///< adverbs between an auxiliary and "read"
  std::string_view drawled;           ///< words whose letters are often repeated: "nooo"
  std::string_view heart_words;       ///< words before a heart that is not spoken: "thanks <3"
  std::string_view music_words;       ///< words of a sentence in which "Bb" is a note
  std::string_view interest_words;    ///< words of a sentence in which "25 bps" are basis points
  std::string_view game_words;        ///< words before the result of a game: "won 112-108"
  std::string_view heat_words;        ///< words of a sentence in which "98.6F" is a temperature
  std::string_view past_words;        ///< words of a sentence about the past
  std::string_view lead_objects;      ///< words after the metal lead
  std::string_view lead_neighbours;   ///< words before the metal lead
  std::string_view live_objects;      ///< words after the adjective "live"
  std::string_view live_verbs;        ///< words before the adverb "live"
  std::string_view counted_parts;     ///< words before a number with leading zeros: "Chapter 01"
  std::string_view function_words;    ///< capitalised words that are not names
  std::string_view roman_parts;       ///< words before a Roman numeral
  std::string_view rulers;            ///< names of rulers: "Henry VIII"
  std::string_view titles;            ///< titles of rulers, like "King"
  std::string_view decade_nouns;      ///< nouns after a decade: "80s music"
  std::string_view capital_words;     ///< words that are usually in capitals
  std::string_view ratio_before;      ///< words before a ratio
  std::string_view ratio_after;       ///< words after a ratio
  std::string_view letter_nouns;      ///< words before a single letter that is a name: "plan A"
  std::string_view spelled;           ///< pronounceable abbreviations that are spelled
  std::string_view said;              ///< abbreviations that are spoken as words
  std::string_view short_words;       ///< words, not abbreviations, of two and three letters:
                                      ///< their capitals mean emphasis
  std::string_view two_faced;         ///< abbreviations that are words if all text is in capitals
  std::string_view onsets;            ///< consonants that a word may begin with
  std::string_view codas;             ///< consonants that a word may end with
  std::string_view block_tags;        ///< tags of HTML that begin a block
  std::string_view inline_tags;       ///< tags of HTML and SSML within a line
  std::string_view hidden_tags;       ///< tags whose content is not read
  std::string_view control_tags;      ///< names that language models write between angle brackets
  std::string_view control_marks;     ///< names that language models write between square brackets
  std::string_view roles;             ///< roles after the token that begins a turn
  std::string_view
      tex_words;  ///< words that fold() writes for signs, and functions without a backslash
  std::string_view menus;       ///< menus: "File > Open"
  std::string_view digit_cues;  ///< words before grouped digits that are no number: "call 555 000"
  std::string_view lengths;     ///< units whose squares and cubes are written without a sign: "m2"
  std::string_view shares;      ///< words after the slash of a unit: "mg/day"
};

/// Returns the lists, which the first call reads. Throws InternalError if a list is missing.
const WordLists& word_lists();

}  // namespace syrinx::english
