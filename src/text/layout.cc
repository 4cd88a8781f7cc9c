#include "text/layout.h"

#include <algorithm>
#include <initializer_list>

namespace syrinx {
namespace {

constexpr float kHeadingPause = 0.6f, kParagraphPause = 0.4f, kSpeechPause = 0.25f,
                kItemPause = 0.2f;

bool has_any_of(std::string_view text, std::initializer_list<std::string_view> signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [text](std::string_view sign) { return text.find(sign) != text.npos; });
}

/// Returns whether a line begins with "- ", "* ", "3. ".
bool begins_list_item(std::string_view line) {
  for (const std::string_view mark : {"- ", "* ", "+ ", "\xe2\x80\xa2 "}) {
    if (line.starts_with(mark)) return true;
  }
  const size_t digits = line.find_first_not_of("0123456789");
  return digits != line.npos && digits > 0 && digits < 4 && line.size() > digits + 1 &&
         (line[digits] == '.' || line[digits] == ')') && line[digits + 1] == ' ';
}

}  // namespace

float layout_pause_s(std::string_view text, bool ends_paragraph) {
  constexpr size_t kLongestHeading = 90;
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return 0;
  const bool ends_line = text.find('\n', end) != text.npos;
  std::string_view line = text.substr(0, end + 1);
  line.remove_prefix(line.find_first_not_of(" \t\r\n"));
  if (line.starts_with("#") && ends_line) return kHeadingPause;
  if (begins_list_item(line) && ends_line) return kItemPause;
  if (!ends_paragraph) return 0;
  const bool unfinished = std::string_view(".!?:;,\"')]}").find(line.back()) == line.npos &&
                          static_cast<unsigned char>(line.back()) < 0x80;
  const bool one_line = line.find('\n') == line.npos;
  if (unfinished && one_line && line.size() <= kLongestHeading) return kHeadingPause;
  return has_any_of(line, {"\"", "\xe2\x80\x9c", "\xe2\x80\x9d"}) ? kSpeechPause : kParagraphPause;
}

}  // namespace syrinx
