#include "text/sentence_rules.h"

#include <algorithm>

#include "text/unicode.h"

namespace syrinx {
namespace {

bool one_of(std::u32string_view set, char32_t code) { return set.find(code) != set.npos; }

/// Returns whether a list of words, each between spaces, contains the word; false for no word.
bool listed(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1))
    if (list[at - 1] == ' ' && list[at + word.size()] == ' ') return true;
  return false;
}

constexpr std::string_view kTitles =
    " mr mrs ms mx dr drs prof st mt rev fr hon gen col maj capt cpt cmdr cdr lt sgt adm gov sen "
    "rep"
    " pres supt cpl pvt det insp brig atty pt messrs mme mlle dra sra srta vs e.g i.e cf viz z.b "
    "d.h u.a bzw ca ";
constexpr std::string_view kNumbers =
    " no nos nr c art eq ste bldg rm ver fn incl rte hwy rs ed rev pop elev arts para arr dep mvt "
    "vv ref "
    "approx jan feb "
    "mar apr jun jul "
    "aug"
    " sep sept oct nov dec tel ext op apt deut matt ps cor rom thess eph heb exod lev judg neh prov"
    " eccl isa jer ezek hos zech kgs chr fl iss lat res reg ";
constexpr std::string_view kParts = " fig figs sc vol vols ch chap sec sect p pp pg ";
constexpr std::string_view kSometimes =
    " etc inc ltd co corp bros llc jr sr al ave blvd rd sts dept est esq usw a.m p.m ph.d b.a m.a "
    "m.d"
    " u.s u.k u.n e.u u.s.a d.c b.c a.d hr hrs ft oz lb lbs temp ea ";
constexpr std::string_view kUnits =
    " in sq cu pct pts mo mos qtr tbsp tsp qt pkg gal yd mi wk wks yr yrs mil bn mn km kg cm mm "
    "mg ";
constexpr std::string_view kStarters =
    " the a an it he she we i you they but and in on at this that these those there then so if when"
    " what who how why where his her its my our your their however for as no yes not after before"
    " with from by to all some many most one now here once while although because since each every"
    " another still yet let do does did is are was were can could will would should may might ";

}  // namespace

Ending ending_of(char32_t code) {
  if (code == '.') return Ending::kDot;
  if (code == U'\u2026') return Ending::kEllipsis;
  if (code < 0x80) return code == '!' || code == '?' ? Ending::kStrong : Ending::kNone;
  if (one_of(U"\u203c\u203d\u2047\u2048\u2049\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4", code))
    return Ending::kStrong;
  return one_of(U"\u3002\uff01\uff1f\uff61", code) ? Ending::kWide : Ending::kNone;
}

bool is_closer(char32_t code) {
  if (code < 0x80) return one_of(U")]}\"'*_`", code);
  if (code >= 0x2074 && code <= 0x2079) return true;  // with the last four: a footnote's number
  return one_of(
      U"\u201d\u2019\u201c\u00bb\u203a\u00ab\u300d\u300f\uff09\u3011\u300b\u3009\u3015\uff3d\uff5d"
      U"\uff02\u301e\u301f\u2070\u00b9\u00b2\u00b3",
      code);
}

bool is_opener(char32_t code) {
  if (code < 0x80) return one_of(U"([{\"'*_`#>-", code);
  return one_of(
      U"\u201c\u201e\u2018\u201a\u00ab\u00bb\u2039\u300c\u300e\uff08\u3010\u300a\u3008\u3014\uff3b"
      U"\u00bf\u00a1\u2014\u2013\u2022\uff02\u301d",
      code);
}

bool is_wide_letter(char32_t code) {
  return (code >= 0x3040 && code < 0x3100) || (code >= 0x3400 && code < 0xa000) ||
         (code >= 0x20000 && code < 0x32000) || (code >= 0x31f0 && code < 0x3200) ||
         (code >= 0xf900 && code < 0xfb00);
}

Clause clause_of(char32_t code) {
  if (one_of(U";:\u2014\u2013\uff1b\uff1a\u037e\u061b", code)) return Clause::kStrong;
  if (one_of(U",)\u3001\uff0c\u060c\u2026", code)) return Clause::kWeak;
  return Clause::kNone;
}

bool is_wide_clause(char32_t code) { return one_of(U"\uff1b\uff1a\u3001\uff0c", code); }

Abbreviation abbreviation_of(std::string_view word) {
  if (word.empty() || word.size() > 8) return Abbreviation::kNone;
  std::string small(word);
  bool letter_dot_letter = word.size() >= 3;  // whether the word has the form u.s or n.a.t.o
  for (size_t i = 0; i < small.size(); ++i) {
    if (small[i] >= 'A' && small[i] <= 'Z') small[i] = static_cast<char>(small[i] + 32);
    letter_dot_letter &= i % 2 ? small[i] == '.' : (small[i] >= 'a' && small[i] <= 'z');
  }
  if (word == "v" || listed(kTitles, small)) return Abbreviation::kNever;  // "Roe v. Wade"
  constexpr std::string_view kStates =
      " Ala Ariz Calif Colo Conn Fla Ill Kan Ky Mass Md Mich Minn Mont Neb Nev Okla Tenn Va Vt Wis "
      "Wyo ";
  if (listed(kStates, word)) return Abbreviation::kSometimes;
  if (listed(" Mon Tue Tues Wed Thu Thur Thurs Fri ", word)) return Abbreviation::kDay;
  const bool initial = word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z' && word[0] != 'I';
  if (initial) return Abbreviation::kSometimes;  // "J. P. Morgan"
  if (listed(" b d min max ex cl ll Min Ex Cl ", word)) return Abbreviation::kNumber;  // "b. 1950"
  if (listed(kNumbers, small)) return Abbreviation::kNumber;
  if (listed(" tim pet sam ", small)) return Abbreviation::kNumbered;
  if (listed(kParts, small)) return Abbreviation::kPart;
  if (listed(kUnits, small)) return Abbreviation::kUnit;
  if ((letter_dot_letter && word.size() % 2) || listed(kSometimes, small))
    return Abbreviation::kSometimes;
  return Abbreviation::kNone;
}

bool may_have_footnote(std::string_view word) {
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  return word.size() > 2 && std::all_of(word.begin(), word.end(), small) &&
         abbreviation_of(word) == Abbreviation::kNone;
}

bool is_era(std::string_view word) { return listed(" ad bc bce ce ", word); }

bool may_be_numeral(std::string_view word) {
  return !word.empty() && word.find_first_not_of("ivxlc") == word.npos;
}

bool may_follow_day(std::string_view word) {
  return listed(
      " january february march april may june july august september october november "
      "december jan feb mar apr jun jul aug sep sept oct nov dec morning afternoon evening "
      "night nights am pm ",
      word);
}

bool is_starter(std::string_view word) { return listed(kStarters, word); }

}  // namespace syrinx
