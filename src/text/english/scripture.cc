// Reads chapter and verse, and ratios, which look like times.
#include <algorithm>
#include <vector>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

struct Book {
  std::string written, name;
  bool numbered;  ///< whether several books have this name, as in "First Kings"
};

const std::vector<Book>& books() {
  static const auto kRows = table_rows<Book>(tables::books(), 2, 3, [](const Cells& c) {
    return Book{c[0], c[1], choice(c[2], {"", "numbered"}) == 1};
  });
  return kRows;
}

const Book* book_of(std::string_view core) {
  if (core.empty() || !is_upper(core[0])) return nullptr;
  const std::string name = lower(core);
  const auto it = std::find_if(books().begin(), books().end(),
                               [&](const Book& book) { return book.written == name; });
  return it == books().end() ? nullptr : &*it;
}

/// Reads "5:3-12" as "five three to twelve"; "" for anything else.
std::string verse_words(std::string_view core) {
  const size_t colon = core.find(':');
  if (colon == core.npos || !is_digits(core.substr(0, colon), 1, 3)) return {};
  std::string_view verses = core.substr(colon + 1);
  std::string_view last;
  if (const size_t dash = verses.find_first_of("-\x1E"); dash != verses.npos) {
    last = verses.substr(dash + 1);
    verses = verses.substr(0, dash);
    if (!is_digits(last, 1, 3)) return {};
  }
  if (!is_digits(verses, 1, 3)) return {};
  std::string out = cardinal_words(core.substr(0, colon)) + ' ' + cardinal_words(verses);
  if (!last.empty()) out += " to " + cardinal_words(last);
  return out;
}

bool is_ratio(const Tokens& tokens, size_t i) {
  if (listed(word_lists().ratio_after, lower(tokens.after(i)))) return true;
  for (size_t back = 1; back <= 3 && back <= i; ++back) {
    const std::string word = lower(tokens.core(i - back));
    if (word == "of" && back == 1) continue;
    if (word != "of" && listed(word_lists().ratio_before, word)) return true;
    if (!listed(" of is was at a the by to ratio: ", word)) return false;
  }
  return false;
}

}  // namespace

Reading read_scripture(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const auto goes_on = [&](size_t k) {
    return k + 1 < tokens.size() && (tokens[k].close == 0 || tokens[k].close == '.') &&
           !tokens[k].closes && !tokens[k + 1].opens;
  };
  if (const Book* book = book_of(core); book != nullptr && goes_on(i)) {
    const std::string verse = verse_words(tokens.core(i + 1));
    if (!verse.empty()) return Spoken{std::string(book->name) + ' ' + verse, 2};
  }
  const bool number = core.size() == 1 && core[0] >= '1' && core[0] <= '3';
  if (!number || !goes_on(i)) return {};
  const Book* book = book_of(tokens.core(i + 1));
  if (book == nullptr || !book->numbered || !goes_on(i + 1)) return {};
  const std::string_view place = tokens.core(i + 2);
  std::string verse = verse_words(place);
  if (verse.empty() && is_digits(place, 1, 2)) verse = cardinal_words(place);
  if (verse.empty()) return {};
  return Spoken{ordinal_words(core[0] - '0') + ' ' + std::string(book->name) + ' ' + verse, 3};
}

Reading read_ratio(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const size_t colon = core.find(':');
  if (colon == core.npos || colon == 0) return {};
  const std::string_view first = core.substr(0, colon), second = core.substr(colon + 1);
  if (is_number(first) && is_number(second) && is_digit(first[0]) && is_digit(second[0])) {
    const bool no_clock =
        first.find('.') != first.npos || second.find_first_of(".,") != second.npos;
    const bool ratio = is_ratio(tokens, i);
    const size_t point = second.find('.');
    const bool lap = point == 2 && second[0] < '6' && is_digits(first, 1, 2);  // "3:59.4"
    if ((!no_clock || lap) && !ratio) return {};
    const std::string_view plain =
        second.size() == 2 && second[0] == '0' ? second.substr(1) : second;
    return Spoken{cardinal_words(first) + " to " + cardinal_words(plain)};
  }
  const bool words =
      all(first, is_lower) && all(second, is_lower) && lower(tokens.after(i)) == "ratio";
  if (words) return Spoken{std::string(first) + " to " + std::string(second)};
  return {};
}

}  // namespace syrinx::english
