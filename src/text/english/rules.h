// The rules of the English reader. Each rule examines a token and its neighbours. It either returns
// words and the number of tokens read, or nothing, so that the next rule is tried. For text/english
// only. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/english/tokens.h"

namespace syrinx::english {

struct Spoken {
  std::string words;  ///< letters, apostrophes and spaces; "" if the tokens are not spoken
  size_t used = 1;    ///< number of tokens read
};

using Reading = std::optional<Spoken>;

/// In measures.cc: reads an amount of money.
Reading read_money(const Tokens& tokens, size_t i);
/// Reads a number with a unit: "5 km", "20 °C".
Reading read_quantity(const Tokens& tokens, size_t i);
/// Reads a product: "1920x1080", "2x4", "9 x 13 inch".
Reading read_product(const Tokens& tokens, size_t i);
/// Reads a factorial: "5!" in "5! = 120".
Reading read_factorial(const Tokens& tokens, size_t i);
/// Reads a term: "2x" in "2x + 1 = 5".
Reading read_term(const Tokens& tokens, size_t i);
/// Reads a range: "3-5", "10-20 %".
Reading read_range(const Tokens& tokens, size_t i);
/// Reads a single number: "1,234.5", "21st".
Reading read_number(const Tokens& tokens, size_t i);

/// In fractions.cc: reads a fraction.
Reading read_fraction(const Tokens& tokens, size_t i);

/// In periods.cc: reads two decades, "1950s-60s", "1990s/2000s".
Reading read_two_decades(const Tokens& tokens, size_t i);
/// Reads a decade or a plural number: "1990s", "80s music"; "100s of people".
Reading read_decade(const Tokens& tokens, size_t i);
/// Reads a fiscal year: "FY24", "FY2023/24", "FY 2025".
Reading read_fiscal_year(const Tokens& tokens, size_t i);
/// Reads a duration: "1h 20m", "2d5h", "5m ago".
Reading read_duration(const Tokens& tokens, size_t i);

/// In dates.cc: reads a date.
Reading read_date(const Tokens& tokens, size_t i);
/// Reads the time of a ship's or soldier's clock: "0800 hours".
Reading read_watch(const Tokens& tokens, size_t i);
/// Reads a range of times: "9 a.m.-5 p.m.", "10:00 - 11:30".
Reading read_hours(const Tokens& tokens, size_t i);
/// Reads a time of day: "10:30", "9 a.m.".
Reading read_time(const Tokens& tokens, size_t i);
/// Reads abbreviated days and months without a date: "Mon to Fri", "every Tue".
Reading read_calendar(const Tokens& tokens, size_t i);
/// Returns the month or day of the week of an abbreviation: "Jan" -> "January"; "" for other words.
std::string_view calendar_name(std::string_view core);

/// In names.cc: reads an abbreviation.
Reading read_abbreviation(const Tokens& tokens, size_t i);
/// Reads a Roman numeral: "Henry VIII", "MMXXIV", "the XIX century".
Reading read_roman(const Tokens& tokens, size_t i);

/// Returns whether a word of the sentence is in the list. Words more than two after token i do not
/// count, so that text that arrives word by word reads like whole text.
bool has_listed_word(const Tokens& tokens, size_t i, std::string_view list);
/// Returns the value of a Roman numeral, "IV" or "xii"; 0 for other words.
int numeral_value(std::string_view word);

/// In addresses.cc: reads an address of the web or of mail, or a telephone number.
Reading read_address(const Tokens& tokens, size_t i);
/// Reads groups of digits, digit by digit: "+1 555 123 4567", "4111 1111 1111 1111".
Reading read_digit_groups(const Tokens& tokens, size_t i);
/// Reads versions and other numbers that have several dots: "v2.1.3".
Reading read_dotted(const Tokens& tokens, size_t i);

/// In codes.cc: reads a number that is a name, not an amount: "room 237".
Reading read_code(const Tokens& tokens, size_t i);

/// In scripture.cc: reads the chapter and verse of scripture: "John 3:16".
Reading read_scripture(const Tokens& tokens, size_t i);
/// Reads a ratio: "3:1", "16:9".
Reading read_ratio(const Tokens& tokens, size_t i);

/// In chemistry.cc: reads a chemical formula.
Reading read_formula(const Tokens& tokens, size_t i);

/// In signs.cc: reads any token that no other rule has read, including its signs.
Spoken read_signs(const Tokens& tokens, size_t i);

}  // namespace syrinx::english
