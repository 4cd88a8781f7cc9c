#include "model/pauses.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/check.h"
#include "base/number.h"

namespace syrinx {
namespace {

constexpr size_t kMaxTag = 64;  // in bytes; a longer tag counts as text

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Reads a tag from its beginning. At the end of the text, the tag may be incomplete.
class TagScan {
 public:
  explicit TagScan(std::string_view text) : text_(text) {}

  enum class Found { kNothing, kMaybe, kTag };
  Found scan() {
    const bool found = literal("<") ? literal("break") && spaces(1) && literal("time") &&
                                          spaces(0) && literal("=") && spaces(0) && quoted() &&
                                          spaces(0) && (literal("/") || !ended_) && literal(">")
                                    : !ended_ && literal("[") && literal("pause") && gap() &&
                                          seconds() && spaces(0) && literal("]");
    if (found) return Found::kTag;
    return ended_ && text_.size() <= kMaxTag ? Found::kMaybe : Found::kNothing;
  }
  size_t bytes() const { return at_; }
  double pause_s() const { return pause_s_; }

 private:
  bool at_end() {
    ended_ = ended_ || at_ == text_.size();
    return ended_;
  }
  /// Reads `wanted` (small letters) in small or capital letters. Returns whether it is there.
  bool literal(std::string_view wanted) {
    for (const char c : wanted) {
      if (at_end() || lower_ascii(text_[at_]) != c) return false;
      ++at_;
    }
    return true;
  }
  bool spaces(int least) {
    int count = 0;
    while (!at_end() && is_space(text_[at_])) ++at_, ++count;
    return !ended_ && count >= least;
  }
  /// Reads spaces or, as in Kokoro-FastAPI, a colon.
  bool gap() {
    if (at_end()) return false;
    if (text_[at_] != ':') return spaces(1);
    ++at_;
    return spaces(0);
  }
  bool quoted() {
    if (at_end()) return false;
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    ++at_;
    if (!spaces(0) || !seconds() || !spaces(0) || at_end() || text_[at_] != quote) return false;
    ++at_;
    return true;
  }
  /// Reads a duration: "0.5s", ".5s", "500ms".
  bool seconds() {
    const size_t begin = at_;
    while (!at_end() && (text_[at_] == '.' || (text_[at_] >= '0' && text_[at_] <= '9'))) ++at_;
    if (ended_) return false;
    double value = 0;
    if (!parse_fixed(text_.substr(begin, at_ - begin), value)) return false;
    if (text_[at_] == 'm') value /= 1000, ++at_;
    pause_s_ = value;
    return literal("s");
  }

  const std::string_view text_;
  size_t at_ = 0;
  bool ended_ = false;  // whether the text ended before the end of the tag
  double pause_s_ = 0;
};

Error too_long(double pause_s, double most_s, const char* what) {
  return {ErrorCode::kInvalid,
          concat(what, " of ", pause_s, " s: at most ", most_s, " s are possible"), "input"};
}

}  // namespace

Status PauseReader::push(std::string_view text, bool last, std::vector<PausePiece>& out) {
  held_ += text;
  const auto say = [&](std::string_view words) {
    if (words.empty()) return;
    if (out.empty() || out.back().pause) out.emplace_back();
    out.back().text += words;
    if (is_speakable(words)) together_s_ = 0;
  };
  std::string_view rest = held_;
  while (!rest.empty()) {
    const size_t open = std::min(rest.find_first_of("<["), rest.size());
    say(rest.substr(0, open));
    rest.remove_prefix(open);
    if (rest.empty()) break;
    TagScan tag(rest.substr(0, kMaxTag));
    const TagScan::Found found = tag.scan();
    if (found == TagScan::Found::kMaybe && !last && rest.size() < kMaxTag) break;
    if (found != TagScan::Found::kTag) {
      say(rest.substr(0, 1));
      rest.remove_prefix(1);
      continue;
    }
    together_s_ += tag.pause_s();
    all_s_ += tag.pause_s();
    if (together_s_ > kMaxPause_s) return too_long(together_s_, kMaxPause_s, "a pause");
    if (all_s_ > kMaxPauses_s) return too_long(all_s_, kMaxPauses_s, "pauses");
    out.push_back({std::string(rest.substr(0, tag.bytes())), true, tag.pause_s()});
    rest.remove_prefix(tag.bytes());
  }
  held_.erase(0, held_.size() - rest.size());
  return ok_status();
}

bool is_speakable(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace syrinx
