#include "text/ssml_stream.h"

#include <algorithm>
#include <utility>

#include "text/ssml.h"

namespace syrinx {
namespace {

constexpr std::string_view kWhite = " \t\r\n";
constexpr std::string_view kMark = "\xef\xbb\xbf";  // byte order mark
constexpr size_t kMostUndecided = 1000;  // most bytes before <speak: comments, declarations, ...

}  // namespace

/// Returns the kind of the text that begins with held_. `last`: held_ is the whole text.
SsmlStream::Kind SsmlStream::begun(bool last) const {
  const size_t mark = held_.starts_with(kMark) ? kMark.size() : 0;
  const bool some = held_.find_first_not_of(kWhite, mark) != held_.npos;
  const Kind other = ssml_ == true && some ? Kind::kRest : Kind::kPlain;
  const SsmlStart start = ssml_start(held_);
  if (start == SsmlStart::kYes) return Kind::kDocument;
  const bool settled = start == SsmlStart::kNo || last || held_.size() > kMostUndecided;
  return settled ? other : Kind::kUndecided;
}

/// Moves scanned_ to the end of the held document if it is complete; otherwise returns false.
bool SsmlStream::find_end() {
  const std::string_view text = held_;
  const auto skip = [&](std::string_view begin, std::string_view end) {
    if (!text.substr(scanned_).starts_with(begin)) return false;
    const size_t at = text.find(end, scanned_ + begin.size());
    if (at == text.npos) return false;
    scanned_ = at + end.size();
    return true;
  };
  for (;;) {
    scanned_ = text.find('<', scanned_);
    if (scanned_ == text.npos) {
      scanned_ = text.size();
      return false;
    }
    const std::string_view rest = text.substr(scanned_);
    if (skip("<!--", "-->") || skip("<![CDATA[", "]]>")) continue;
    if (rest.starts_with("<!--") || rest.starts_with("<![CDATA[")) return false;
    const size_t close = rest.find('>');
    if (close == rest.npos) return false;
    const std::string_view tag = rest.substr(1, close - 1);
    const std::string_view name = tag.substr(0, tag.find_last_not_of(kWhite) + 1);
    scanned_ += close + 1;
    if (name == "/speak" || (name.starts_with("speak") && name.ends_with('/'))) return true;
  }
}

void SsmlStream::take(bool last, std::vector<Piece>& out) {
  for (;;) {
    if (kind_ == Kind::kUndecided) {
      kind_ = begun(last);
      scanned_ = 0;
    }
    if (kind_ == Kind::kPlain && !held_.empty()) out.push_back({std::exchange(held_, {})});
    if (kind_ != Kind::kDocument || !find_end()) return;
    out.push_back({held_.substr(0, scanned_), true});
    held_.erase(0, scanned_);
    kind_ = Kind::kUndecided;
    if (held_.empty()) return;
  }
}

void SsmlStream::push(std::string_view text, std::vector<Piece>& out) {
  if (ssml_ == false || kind_ == Kind::kPlain) {
    if (!text.empty()) out.push_back({std::string(text)});
    return;
  }
  held_ += text;
  take(false, out);
}

void SsmlStream::finish(std::vector<Piece>& out) {
  if (!held_.empty()) take(true, out);
  if (!held_.empty() && kind_ == Kind::kRest && bare_) held_ = "<speak>" + held_ + "</speak>";
  if (!held_.empty()) out.push_back({std::exchange(held_, {}), true});
  kind_ = Kind::kUndecided;
}

}  // namespace syrinx
