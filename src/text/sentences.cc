#include "text/sentences.h"

#include <algorithm>
#include <optional>

#include "text/sentence_rules.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMinLimit = 8;       // smallest SentenceOptions::max_chars
constexpr size_t kShortLine = 45;     // bytes; longer lines are prose
constexpr size_t kWordBytes = 16;     // longest word that is compared with word lists, in bytes
constexpr size_t kMarks = 64;         // most bytes of marks in succession
constexpr size_t kHidden = 64 << 10;  // longest script or style sheet that is recognised, in bytes
constexpr size_t kLongHidden = 2000;  // a longer script or style sheet is a separate piece
constexpr size_t kOften = 4 << 10;    // bytes; up to this size, every push() examines all held text

/// Thrown and caught within this file, when the result depends on text that has not arrived.
struct NeedMore {};

bool is_digits(std::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Finds the pieces of a text, one after another.
class Splitter {
 public:
  /// `more`: text may follow later. `column`: bytes of the line before the text.
  Splitter(std::string_view text, const SentenceOptions& options, bool more, size_t column)
      : text_(text),
        max_(std::max(options.max_chars, kMinLimit)),
        min_(options.min_chars),
        more_(more),
        column_(column) {}

  /// Returns the piece that begins at `begin` < size, where the previous piece ends. Throws
  /// NeedMore while the end of the piece is uncertain.
  Sentence next(size_t begin) {
    const Sentence found = find(begin);
    column_ = bytes_in_line(found.end);
    return found;
  }
  /// Returns the bytes of the current line before the next piece.
  size_t column() const { return column_; }

 private:
  /// The end of a run of white space, and the number of line ends in it.
  struct Gap {
    size_t end;
    int newlines;
  };
  /// A possible sentence end. `core`: after its marks. `end`: after the white space that follows.
  struct Boundary {
    size_t core, end;
    bool paragraph;
  };

  /// Returns the code point at `at`; throws NeedMore if the code point has not arrived.
  CodePoint look(size_t at) const {
    if (at < text_.size()) return utf8_at(text_, at);
    if (more_) throw NeedMore();
    return {0, 0, true};  // at the end of the text: neither a letter nor a mark
  }
  Sentence find(size_t begin);
  Gap skip_gap(size_t at) const;
  std::optional<Boundary> after_marks(size_t begin, size_t& at) const;
  bool dot_ends(size_t dot, size_t next) const;
  bool is_factorial(size_t mark, size_t next) const;
  std::optional<Boundary> at_gap(size_t begin, const Gap& gap) const;
  bool begins_item(size_t at) const;
  bool begins_number(size_t at) const;
  bool begins_glued(size_t mark, size_t next, bool firm) const;
  std::string word_before(size_t end) const;
  std::string small_word_at(size_t at) const;
  size_t skip_openers(size_t at) const;
  size_t skip_hidden(size_t at) const;
  size_t skip_footnote(size_t mark, size_t at) const;
  size_t cut(size_t begin, size_t limit) const;
  size_t bytes_in_line(size_t end) const;

  std::string_view text_;
  size_t max_, min_;
  bool more_;
  size_t column_;     // bytes before the piece in its first line
  size_t begin_ = 0;  // beginning of the piece
};

/// Returns how many bytes of its line precede `end`, a position in the piece.
size_t Splitter::bytes_in_line(size_t end) const {
  const size_t newline = text_.substr(begin_, end - begin_).find_last_of("\r\n");
  return newline == text_.npos ? column_ + (end - begin_) : end - begin_ - newline - 1;
}

/// Skips white space from `at` on; counts its line ends.
Splitter::Gap Splitter::skip_gap(size_t at) const {
  int newlines = 0;
  for (;;) {
    const CodePoint code = look(at);
    if (code.size == 0 || !is_space(code.value)) return {at, newlines};
    at += code.size;
    if (code.value == 0x2029) newlines += 2;
    const bool pair = code.value == '\r' && at < text_.size() && text_[at] == '\n';
    if (code.value == '\n' || code.value == 0x2028 || (code.value == '\r' && !pair)) ++newlines;
  }
}

size_t Splitter::skip_openers(size_t at) const {
  for (;;) {
    const CodePoint code = look(at);
    if (code.size == 0 || !is_opener(code.value)) return at;
    at += code.size;
  }
}

/// Returns the end of a script or style sheet of HTML that begins with the '<' at `at`. Returns
/// `at` if nothing like this begins there.
size_t Splitter::skip_hidden(size_t at) const {
  const bool quoted = at > 0 && text_[at - 1] == '`';  // code in a text about HTML
  if (quoted) return at;
  const std::string name = small_word_at(at + 1);
  if (name != "script" && name != "style") return at;
  const std::string_view near = text_.substr(at, kHidden);
  const size_t close = near.find("</" + name + '>');
  if (close != near.npos) return at + close + name.size() + 3;
  if (more_ && near.size() < kHidden) throw NeedMore();
  return at;
}

/// Returns the end of a footnote's number at `at`, after the marks of a sentence from `mark` on:
/// "powder.[1] The", "powder.1 The". Returns `at` if there is none.
size_t Splitter::skip_footnote(size_t mark, size_t at) const {
  const auto digit = [this](size_t i) { return look(i).value >= '0' && look(i).value <= '9'; };
  const bool bracket = look(at).value == '[';
  const size_t first = at + (bracket ? 1 : 0);
  const auto after_number = [&](size_t i) {
    const size_t from = i;
    while (i < from + 3 && digit(i)) ++i;
    return i;
  };
  size_t end = after_number(first);
  if (end == first) return at;
  if (bracket) return look(end).value == ']' && look(first).value != '0' ? end + 1 : at;
  bool small = end < first + 3;
  while (look(end).value == ',' || look(end).value == '-' || look(end).value == 0x2013) {
    const size_t next = end + look(end).size, last = after_number(next);
    if (last == next) break;
    small = small && last < next + 3;
    end = last;
  }
  const bool ours = small && is_space(look(end).value) && may_have_footnote(word_before(mark));
  return ours && is_upper(look(skip_openers(skip_gap(end).end)).value) ? end : at;
}

/// Returns the letters, digits and inner full stops directly before `end`, at most kWordBytes.
/// Returns "" for a longer word.
std::string Splitter::word_before(size_t end) const {
  size_t at = end;
  while (at > begin_ && end - at <= kWordBytes) {
    const CodePoint code = utf8_before(text_, at);
    if (code.value != '.' && !is_word(code.value)) break;
    at -= code.size;
  }
  return end - at > kWordBytes ? std::string() : std::string(text_.substr(at, end - at));
}

/// Returns the ASCII word at `at` in small letters; "" for a word longer than kWordBytes.
std::string Splitter::small_word_at(size_t at) const {
  std::string word;
  for (;; ++at) {
    const char32_t code = look(at).value;
    const bool upper = code >= 'A' && code <= 'Z';
    if (!upper && !(code >= 'a' && code <= 'z')) return word;
    if (word.size() == kWordBytes) return {};
    word += static_cast<char>(upper ? code + 32 : code);
  }
}

/// Returns whether a list item begins at `at`: "- ", "* ", "3. ", "3) ".
bool Splitter::begins_item(size_t at) const {
  const char32_t first = look(at).value;
  if (first == '-' || first == '*' || first == 0x2022)
    return is_space(look(at + look(at).size).value);
  size_t digits = 0;
  while (digits < 4 && is_digits(text_.substr(std::min(at + digits, text_.size()), 1))) ++digits;
  if (digits == 0 || digits == 4) {
    look(at + digits);
    return false;
  }
  const char32_t mark = look(at + digits).value;
  return (mark == '.' || mark == ')') && is_space(look(at + digits + 1).value);
}

/// Returns whether a number begins at `at`, perhaps after a sign: "5", "$5", "~5".
bool Splitter::begins_number(size_t at) const {
  const CodePoint first = look(at);
  if (is_digit(first.value)) return true;
  constexpr std::u32string_view kSigns = U"$\u00a3\u20ac\u00a5\u20b9~<>+\u00b1";
  return kSigns.find(first.value) != kSigns.npos && is_digit(look(at + first.size).value);
}

/// Returns whether a sentence begins at `next`, directly after the marks of another one: "It
/// rained.He left." `firm`: the marks are more than a full stop, so they are not part of a name.
bool Splitter::begins_glued(size_t mark, size_t next, bool firm) const {
  const std::string word = word_before(mark);
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  if (word.size() < 2 || !std::all_of(word.begin() + (firm ? 1 : 0), word.end(), small))
    return false;
  return is_upper(look(next).value) && is_starter(small_word_at(next));
}

/// Returns whether the single full stop at `dot` ends a sentence when a word at `next` follows.
bool Splitter::dot_ends(size_t dot, size_t next) const {
  const std::string word = word_before(dot);
  const char32_t first = look(next).value;
  if (is_digits(word) && skip_gap(begin_).end + word.size() == dot) return false;  // "1. Item"
  const Abbreviation known = abbreviation_of(word);
  if (known == Abbreviation::kNever) return false;
  const bool letter = word.size() == 1 && word[0] >= 'a' && word[0] <= 'z';
  if (letter && is_digit(first)) return false;  // "s. 5 of the Act"
  const bool part = known == Abbreviation::kPart;
  const auto begins_code = [&] {  // "no. B7"
    return is_upper(first) && is_digit(look(next + look(next).size).value);
  };
  if ((part || known == Abbreviation::kNumber) && (begins_number(next) || begins_code()))
    return false;
  const auto numeral_of = [&](size_t least) {
    const std::string numeral = small_word_at(next);
    return numeral.size() >= least && may_be_numeral(numeral);
  };
  if (part && numeral_of(1)) return false;
  if (known == Abbreviation::kNumber && numeral_of(2)) return false;  // "Art. II"
  if (word == "c" && is_era(small_word_at(next))) return false;       // "the 3rd c. BC"
  const size_t before = dot - word.size();
  const char32_t last = before > begin_ + 1 ? utf8_before(text_, before - 1).value : U' ';
  const bool after_number = is_digit(last) || general_category(last) == Category::kNumber;  // "½"
  if (known == Abbreviation::kNumbered && after_number && is_digit(first)) return false;
  const bool bracketed = is_digit(first) && text_[next - 1] == '(';
  if (known == Abbreviation::kUnit && after_number && bracketed) return false;  // "4 in. (10 cm)"
  if (known == Abbreviation::kDay) return is_upper(first) && !may_follow_day(small_word_at(next));
  if (known == Abbreviation::kSometimes) return is_upper(first) && is_starter(small_word_at(next));
  if (!is_lower(first)) return true;
  if (known == Abbreviation::kUnit && after_number) return false;
  // In a text of small letters, a full stop ends a sentence only after an ordinary word.
  const bool ordinary = known == Abbreviation::kNone || known == Abbreviation::kUnit ||
                        known == Abbreviation::kNumbered;
  return ordinary && word.size() >= 2 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Returns whether the "!" at `mark` means a factorial. An operator follows at `next` ("5! = 120",
/// "n! / k"), or the piece begins with the number and "is" or "equals" follows ("5! is 120").
bool Splitter::is_factorial(size_t mark, size_t next) const {
  if (text_[mark] != '!') return false;
  const std::string word = word_before(mark);
  if (!is_digits(word) && !(word.size() == 1 && is_lower(static_cast<unsigned char>(word[0]))))
    return false;
  const char32_t sign = look(next).value;
  if (sign == '=' || sign == '+' || sign == '/' || sign == 0xD7 || sign == 0xF7)
    return is_space(look(next + look(next).size).value);
  const bool first = is_digits(word) && skip_gap(begin_).end + word.size() == mark;
  if (!first) return false;
  const std::string verb = small_word_at(next);
  return is_lower(sign) && (verb == "is" || verb == "equals");
}

/// Returns the boundary at a mark that may end a sentence. Moves `at` after the marks.
std::optional<Splitter::Boundary> Splitter::after_marks(size_t begin, size_t& at) const {
  bool strong = false, wide = false;
  int dots = 0;
  for (at = begin;;) {
    const CodePoint code = look(at);
    const Ending ending = code.size ? ending_of(code.value) : Ending::kNone;
    if (ending == Ending::kNone || at - begin > kMarks) break;
    strong |= ending == Ending::kStrong;
    wide |= ending == Ending::kWide;
    dots += ending == Ending::kDot ? 1 : ending == Ending::kEllipsis ? 3 : 0;
    at += code.size;
  }
  size_t core = at;
  while (look(core).size && is_closer(look(core).value)) core += look(core).size;
  core = skip_footnote(begin, core);
  const Gap gap = skip_gap(core);
  const Boundary boundary{core, gap.end, gap.newlines > 1};
  if (gap.end == text_.size() || boundary.paragraph || wide) return boundary;
  if (begin + 1 == at && core == at && is_factorial(begin, gap.end)) return {};
  const CodePoint next = look(gap.end);
  if (gap.end == core) {  // no space: "3.14", "example.org", but also scripts without spaces
    if (strong && is_wide_letter(next.value)) return boundary;
    if ((strong || dots == 1) && begins_glued(begin, gap.end, strong || core > at)) return boundary;
    return {};
  }
  if (gap.newlines == 1 && begins_item(gap.end)) return boundary;
  const size_t word = skip_openers(gap.end);
  const bool lower = look(word).size && is_lower(look(word).value);
  if (strong) return lower && core > at ? std::nullopt : std::optional(boundary);
  if (dots > 1) return lower ? std::nullopt : std::optional(boundary);
  return dot_ends(begin, word) ? std::optional(boundary) : std::nullopt;
}

/// Returns the boundary at white space without a mark before it.
std::optional<Splitter::Boundary> Splitter::at_gap(size_t begin, const Gap& gap) const {
  if (gap.newlines == 0 || gap.end == text_.size()) return {};
  const Boundary boundary{begin, gap.end, gap.newlines > 1};
  if (gap.newlines > 1 || begins_item(gap.end)) return boundary;
  // A line of prose continues after a single line end. A short line is a separate piece.
  const CodePoint next = look(skip_openers(gap.end));
  const bool short_line = bytes_in_line(begin) <= kShortLine;
  return short_line && !is_lower(next.value) ? std::optional(boundary) : std::nullopt;
}

/// Returns the best position to cut [begin, limit), which has the largest permitted length.
size_t Splitter::cut(size_t begin, size_t limit) const {
  size_t space = 0, weak = 0, strong = 0, count = 0;
  char32_t last = 0;
  for (size_t at = begin; at < limit;) {
    const CodePoint code = utf8_at(text_, at);
    const bool gap = is_space(code.value);
    if (gap) {
      while (at < limit && is_space(utf8_at(text_, at).value)) at += utf8_at(text_, at).size;
    } else {
      at += code.size;
      last = code.value;
    }
    count += 1;
    if ((!gap && !is_wide_clause(code.value)) || last == 0) continue;
    if (gap) space = at;
    const Clause clause = clause_of(last);
    if (count * 2 < max_) continue;  // a cut here would make a piece that is too short
    if (clause == Clause::kStrong) strong = at;
    if (clause == Clause::kWeak) weak = at;
  }
  if (strong) return strong;
  if (weak) return weak;
  if (space) return space;
  // If no position suits, cuts anywhere except between a letter and its combining marks.
  for (size_t at = limit; at > begin; at -= utf8_before(text_, at).size) {
    const char32_t code = utf8_at(text_, at).value;
    const bool tied = (is_word(code) && !is_letter(code) && !is_digit(code) && code != '_') ||
                      code == 0x200d || (code >= 0xfe00 && code <= 0xfe0f) ||
                      (code >= 0x1f3fb && code <= 0x1f3ff) ||
                      utf8_before(text_, at).value == 0x200d;
    if (!tied) return at;
  }
  return limit;
}

Sentence Splitter::find(size_t begin) {
  begin_ = begin;
  size_t at = skip_gap(begin).end, count = 0;
  std::optional<Boundary> kept;  // the last boundary whose piece is shorter than min_chars
  const auto piece = [&](size_t end, bool paragraph) { return Sentence{begin, end, paragraph}; };
  const auto cut_at = [&](size_t limit) { return Sentence{begin, cut(begin, limit), false, true}; };
  while (at < text_.size()) {
    const CodePoint code = utf8_at(text_, at);
    const bool space = is_space(code.value);
    if (!space && count >= max_) return kept ? piece(kept->end, false) : cut_at(at);
    std::optional<Boundary> boundary;
    const size_t from = at;
    if (space) {
      const Gap gap = skip_gap(at);
      boundary = at_gap(at, gap);
      at = gap.end;
      ++count;
    } else if (ending_of(code.value) != Ending::kNone) {
      boundary = after_marks(at, at);
      const size_t end = boundary ? boundary->core : at;
      count += utf8_count(text_.substr(from, end - from));
      if (count > max_) {  // the marks at the end exceed the limit
        if (kept) return piece(kept->end, false);
        size_t limit = from;
        count -= utf8_count(text_.substr(from, end - from));
        for (; count < max_; ++count) limit += utf8_at(text_, limit).size;
        return cut_at(limit);
      }
    } else {
      const size_t behind = code.value == '<' ? skip_hidden(at) : at;
      if (behind - at > kLongHidden) {
        if (count > 0) return piece(at, false);
        return {begin, behind, false, false, true};
      }
      at = std::max(at + code.size, behind);
      ++count;
    }
    if (!boundary) continue;
    if (boundary->paragraph || count >= min_) return piece(boundary->end, boundary->paragraph);
    kept = boundary;
    at = boundary->end;
    if (boundary->end > boundary->core) ++count;
  }
  if (more_) throw NeedMore();
  return piece(text_.size(), false);
}

}  // namespace

std::vector<Sentence> split_sentences(std::string_view text, const SentenceOptions& options) {
  std::vector<Sentence> out;
  Splitter splitter(text, options, false, 0);
  for (size_t at = 0; at < text.size(); at = out.back().end) out.push_back(splitter.next(at));
  return out;
}

void SentenceStream::take(bool more, std::vector<Item>& out) {
  const size_t complete = held_.size() - (more ? utf8_unfinished(held_) : 0);
  const std::string_view text = std::string_view(held_).substr(0, complete);
  Splitter splitter(text, options_, more, column_);
  size_t at = 0;
  try {
    while (at < text.size()) {
      const Sentence found = splitter.next(at);
      out.push_back({{found.begin + offset_, found.end + offset_, found.ends_paragraph, found.cut,
                      found.hidden},
                     std::string(text.substr(found.begin, found.end - found.begin))});
      at = found.end;
    }
  } catch (const NeedMore&) {
    // The rest of the text waits for the next push().
  }
  column_ = splitter.column();
  held_.erase(0, at);
  offset_ += at;
  looked_at_ = held_.size();
}

void SentenceStream::push(std::string_view text, std::vector<Item>& out) {
  held_ += text;
  // A long run of marks or spaces cannot end a sentence, so not every push() examines it again.
  if (held_.size() > kOften && held_.size() < looked_at_ + looked_at_ / 8) return;
  take(true, out);
}

void SentenceStream::finish(std::vector<Item>& out) {
  take(false, out);
  offset_ = column_ = looked_at_ = 0;
}

}  // namespace syrinx
