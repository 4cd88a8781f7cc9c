#include "families/piper/clauses.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::piper {
namespace {

/// Returns the mark for a character that may end a clause. Returns 0 for other characters.
char mark_of(char32_t code) {
  constexpr std::array<std::pair<char32_t, char>, 23> kMarks{
      {{U',', ','},  {U':', ':'},  {U';', ';'},  {U'.', '.'},  {U'?', '?'},  {U'!', '!'},
       {U'、', ','}, {U'，', ','}, {U'：', ':'}, {U'；', ';'}, {U'。', '.'}, {U'？', '?'},
       {U'！', '!'}, {U'،', ','},  {U'؛', ';'},  {U'؟', '?'},  {U'۔', '.'},  {U'।', '.'},
       {U'॥', '.'},  {U'…', '.'},  {U'—', ';'},  {U'–', ';'},  {U'．', '.'}}};
  for (const auto& [from, to] : kMarks) {
    if (from == code) return to;
  }
  return 0;
}

/// Returns whether the mark ends a clause only before a space: it does not in "3.5" and "10:30".
bool needs_space(char32_t code) { return code < 0x80 || code == U'…'; }
/// Returns whether the character is a dash, which ends a clause only between spaces.
bool is_dash(char32_t code) { return code == U'—' || code == U'–'; }

bool closes(char32_t code) {
  constexpr std::u32string_view kClosers = U"\"'”’»)]}」』";
  return kClosers.find(code) != kClosers.npos;
}

bool says(char32_t code) { return is_word(code) && code != U'_'; }

class ClauseCutter {
 public:
  explicit ClauseCutter(const WrittenText& sentence) : text_(sentence.text) {
    size_t at = 0;
    for (const Saying& saying : sentence.sayings) {
      const auto begin = static_cast<size_t>(saying.begin), end = static_cast<size_t>(saying.end);
      if (begin < at || end > text_.size() || (saying.words.empty() && saying.phones.empty())) {
        continue;
      }
      plain(at, begin);
      if (saying.phones.empty()) {
        clause_.words.push_back({saying.begin, saying.end});
        clause_.say += saying.words;
      } else {
        finish(0);
        out_.push_back({saying.phones.ipa, true, {{saying.begin, saying.end}}, 0});
      }
      at = end;
    }
    plain(at, text_.size());
    finish(0);
  }

  std::vector<Clause> take() { return std::move(out_); }

 private:
  void finish(char mark) {
    if (clause_.words.empty()) {  // a mark without words ends the clause before it
      if (mark != 0 && !out_.empty() && out_.back().mark == 0) out_.back().mark = mark;
    } else {
      clause_.mark = mark;
      out_.push_back(std::move(clause_));
    }
    clause_ = {};
  }

  bool ends_here(size_t after, char32_t code, char32_t before) const {
    if (is_dash(code) && !is_space(before)) return false;
    if (!needs_space(code) && !is_dash(code)) return true;
    // If more words of the sentence follow, a full stop belongs to an abbreviation.
    if (code == U'.' || code == U'…') return !says_more(after);
    while (after < text_.size()) {
      const CodePoint next = utf8_at(text_, after);
      if (is_space(next.value)) return true;
      if (mark_of(next.value) == 0 && !closes(next.value)) return false;
      after += next.size;
    }
    return true;
  }

  bool says_more(size_t at) const {
    for (; at < text_.size(); at += utf8_at(text_, at).size) {
      if (says(utf8_at(text_, at).value)) return true;
    }
    return false;
  }

  /// Adds the bytes [at, end), for which no pronunciation is stated.
  void plain(size_t at, size_t end) {
    char32_t before = U' ';
    bool word = false;
    while (at < end) {
      const CodePoint c = utf8_at(text_, at);
      const size_t after = at + static_cast<size_t>(c.size);
      const char mark = mark_of(c.value);
      if (is_space(c.value)) {
        word = false;
        clause_.say += ' ';
      } else {
        if (says(c.value) && !word) {
          clause_.words.push_back({static_cast<int64_t>(at), 0});
          word = true;
        }
        if (word && says(c.value)) clause_.words.back().end = static_cast<int64_t>(after);
        // Removes brackets, because espeak-ng would read text after "[[" as phonemes.
        if (c.value == U'[' || c.value == U']') {
          clause_.say += ' ';
        } else {
          clause_.say.append(text_, at, after - at);
        }
      }
      if (mark != 0 && ends_here(after, c.value, before)) {
        finish(mark);
        word = false;
      }
      before = c.value;
      at = after;
    }
  }

  const std::string& text_;
  Clause clause_;
  std::vector<Clause> out_;
};

}  // namespace

std::vector<Clause> clauses_of(const WrittenText& sentence) {
  return ClauseCutter(sentence).take();
}

}  // namespace syrinx::piper
