// Chapter and verse, and ratios, which are written as times are.
#include <algorithm>
#include <array>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"

namespace syrinx::english {
namespace {

struct Book {
  std::string_view written, name;
  bool numbered;  ///< there is a first and a second of them
};
constexpr std::array kBooks = std::to_array<Book>({
    {"genesis", "genesis", false},
    {"gen", "genesis", false},
    {"exodus", "exodus", false},
    {"ex", "exodus", false},
    {"exod", "exodus", false},
    {"leviticus", "leviticus", false},
    {"lev", "leviticus", false},
    {"numbers", "numbers", false},
    {"num", "numbers", false},
    {"deuteronomy", "deuteronomy", false},
    {"deut", "deuteronomy", false},
    {"joshua", "joshua", false},
    {"josh", "joshua", false},
    {"judges", "judges", false},
    {"judg", "judges", false},
    {"ruth", "ruth", false},
    {"samuel", "samuel", true},
    {"sam", "samuel", true},
    {"kings", "kings", true},
    {"kgs", "kings", true},
    {"chronicles", "chronicles", true},
    {"chr", "chronicles", true},
    {"ezra", "ezra", false},
    {"nehemiah", "nehemiah", false},
    {"neh", "nehemiah", false},
    {"esther", "esther", false},
    {"job", "job", false},
    {"psalm", "psalm", false},
    {"psalms", "psalms", false},
    {"ps", "psalm", false},
    {"proverbs", "proverbs", false},
    {"prov", "proverbs", false},
    {"ecclesiastes", "ecclesiastes", false},
    {"eccl", "ecclesiastes", false},
    {"isaiah", "isaiah", false},
    {"isa", "isaiah", false},
    {"jeremiah", "jeremiah", false},
    {"jer", "jeremiah", false},
    {"lamentations", "lamentations", false},
    {"ezekiel", "ezekiel", false},
    {"ezek", "ezekiel", false},
    {"daniel", "daniel", false},
    {"dan", "daniel", false},
    {"hosea", "hosea", false},
    {"joel", "joel", false},
    {"amos", "amos", false},
    {"obadiah", "obadiah", false},
    {"jonah", "jonah", false},
    {"micah", "micah", false},
    {"nahum", "nahum", false},
    {"habakkuk", "habakkuk", false},
    {"zephaniah", "zephaniah", false},
    {"haggai", "haggai", false},
    {"zechariah", "zechariah", false},
    {"malachi", "malachi", false},
    {"matthew", "matthew", false},
    {"matt", "matthew", false},
    {"mt", "matthew", false},
    {"mark", "mark", false},
    {"mk", "mark", false},
    {"luke", "luke", false},
    {"lk", "luke", false},
    {"john", "john", true},
    {"jn", "john", true},
    {"acts", "acts", false},
    {"romans", "romans", false},
    {"rom", "romans", false},
    {"corinthians", "corinthians", true},
    {"cor", "corinthians", true},
    {"galatians", "galatians", false},
    {"gal", "galatians", false},
    {"ephesians", "ephesians", false},
    {"eph", "ephesians", false},
    {"philippians", "philippians", false},
    {"phil", "philippians", false},
    {"colossians", "colossians", false},
    {"col", "colossians", false},
    {"thessalonians", "thessalonians", true},
    {"thess", "thessalonians", true},
    {"timothy", "timothy", true},
    {"tim", "timothy", true},
    {"titus", "titus", false},
    {"philemon", "philemon", false},
    {"hebrews", "hebrews", false},
    {"heb", "hebrews", false},
    {"james", "james", false},
    {"jas", "james", false},
    {"peter", "peter", true},
    {"pet", "peter", true},
    {"jude", "jude", false},
    {"revelation", "revelation", false},
    {"rev", "revelation", false},
    {"surah", "surah", false},
    {"sura", "surah", false},
    {"quran", "quran", false},
    {"tobit", "tobit", false},
    {"sirach", "sirach", false},
});

const Book* book_of(std::string_view core) {
  if (core.empty() || !is_upper(core[0])) return nullptr;
  const std::string name = lower(core);
  const auto it = std::find_if(kBooks.begin(), kBooks.end(),
                               [&](const Book& book) { return book.written == name; });
  return it == kBooks.end() ? nullptr : &*it;
}

/// "5:3-12" as "five three to twelve"; "" for anything else.
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

constexpr std::string_view kBeforeRatio =
    " ratio ratios scale odds score scored mixed mix proportion won lost win beat draw drew of rice"
    " proportions dilution compression gearing ";
constexpr std::string_view kAfterRatio =
    " ratio dilution scale split chance screen picture display aspect model mix odds mixture win "
    "loss"
    " lead victory defeat draw solution proportion format ";

bool is_ratio(const Tokens& tokens, size_t i) {
  if (listed(kAfterRatio, lower(tokens.after(i)))) return true;
  for (size_t back = 1; back <= 3 && back <= i; ++back) {
    const std::string word = lower(tokens.core(i - back));
    if (word == "of" && back == 1) continue;
    if (word != "of" && listed(kBeforeRatio, word)) return true;
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
    if (!no_clock && !is_ratio(tokens, i)) return {};
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
