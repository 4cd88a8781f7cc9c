#include "text/english/tags.h"

#include <algorithm>
#include <string>

#include "text/english/chars.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

constexpr size_t kMaxTag = 400;       // most characters of a tag
constexpr size_t kMaxControl = 64;    // most characters of a token like "<|im_end|>"
constexpr size_t kMaxElement = 4000;  // most characters of an element with an unknown tag

char char_at(std::string_view text, size_t i) { return i < text.size() ? text[i] : ' '; }

/// Returns the position of `end`, at most `most` characters after `from`; npos if not found.
size_t found(std::string_view text, std::string_view end, size_t from, size_t most) {
  if (from >= text.size()) return text.npos;
  const size_t at = text.substr(from, most).find(end);
  return at == text.npos ? at : from + at;
}

/// Returns the size of the speaker's role after "<|im_start|>", because the role is not spoken.
size_t role_size(std::string_view text, size_t at) {
  size_t end = at;
  while (is_lower(char_at(text, end)) && end < at + 10) ++end;
  const char behind = char_at(text, end);
  const bool parted = behind == '\n' || behind == '<' || behind == ' ';
  return listed(word_lists().roles, text.substr(at, end - at)) && parted ? end - at : 0;
}

/// Returns the size of a token like "<|im_end|>"; 0 for other texts.
size_t barred_size(std::string_view text, size_t at) {
  const size_t end = found(text, "|>", at + 2, kMaxControl);
  if (end == text.npos) return 0;
  const std::string_view name = text.substr(at + 2, end - at - 2);
  if (name.empty() || name.find_first_of("<\n") != name.npos) return 0;
  const bool starts = name == "im_start" || name == "start_header_id";
  return end + 2 - at + (starts ? role_size(text, end + 2) : 0);
}

/// Returns the size of "<!-- -->", "<!DOCTYPE html>", "<?xml ?>", "<![CDATA["; 0 for other texts.
size_t declaration_size(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  const auto until = [&](std::string_view end, size_t most) {
    const size_t to = found(text, end, at + 2, most);
    return to == text.npos ? size_t{0} : to + end.size() - at;
  };
  if (rest.starts_with("<!--")) return until("->", kMaxTag);  // fold() may have joined two dashes
  if (rest.starts_with("<![CDATA[")) return 9;
  if (rest.starts_with("<?")) return is_letter(char_at(text, at + 2)) ? until(">", kMaxTag) : 0;
  if (rest.starts_with("<!") && is_letter(char_at(text, at + 2))) return until(">", kMaxTag);
  return 0;
}

/// Returns the size up to the end of a tag whose name ends at `from`; 0 if it is not a tag.
size_t tag_end(std::string_view text, size_t from) {
  bool attributes = false;
  for (size_t i = from; i < std::min(text.size(), from + kMaxTag); ++i) {
    if (text[i] == '<') return 0;
    attributes |= text[i] == '=';
    if (text[i] != '>') continue;
    const bool bare = i == from || (i <= from + 2 && text[i - 1] == '/');
    return bare || attributes ? i + 1 : 0;
  }
  return 0;
}

bool is_name_char(char c) { return is_alnum(c) || c == '-' || c == '_' || c == ':'; }

/// Returns whether an unknown name is a tag name; false in "vector<int>" and "#include <cmath>".
bool is_unknown_tag(std::string_view text, size_t at, std::string_view name, size_t end) {
  if (name.size() > kMaxControl) return false;
  if (!is_alnum(char_at(text, at - 1)) || at == 0) {
    const std::string_view before = text.substr(0, at);
    return !(before.ends_with("include ") || before.ends_with("include"));
  }
  return found(text, "</" + std::string(name) + '>', end, kMaxElement) != text.npos;
}

}  // namespace

Tag tag_at(std::string_view text, size_t at) {
  if (char_at(text, at + 1) == '|') {
    const size_t size = barred_size(text, at);
    return size > 0 ? Tag{TagKind::kInline, size} : Tag{};
  }
  if (const size_t size = declaration_size(text, at); size > 0) return {TagKind::kInline, size};
  size_t begin = at + 1;
  const bool doubled = char_at(text, begin) == '<';  // "<<SYS>>"
  if (doubled) ++begin;
  const bool closing = char_at(text, begin) == '/';
  if (closing) ++begin;
  size_t end = begin;
  while (end < begin + kMaxControl && is_name_char(char_at(text, end))) ++end;
  const std::string name = lower(text.substr(begin, end - begin));
  if (name.empty()) return {};
  if (doubled) {
    const bool system = name == "sys" && text.substr(end).starts_with(">>");
    return system ? Tag{TagKind::kInline, end + 2 - at} : Tag{};
  }
  if (name.size() == 4 && name.starts_with("0x") && char_at(text, end) == '>') {  // "<0x0A>"
    return {TagKind::kInline, end + 1 - at};
  }
  const size_t to = is_letter(name[0]) || name[0] == '_' ? tag_end(text, end) : 0;
  if (to == 0) return {};
  const size_t size = to - at;
  if (listed(word_lists().hidden_tags, name)) {
    if (closing) return {TagKind::kInline, size, true};
    const size_t close = text.find("</" + name, to);  // a closing tag usually has small letters
    const size_t last = close == text.npos ? text.npos : text.find('>', close);
    return {TagKind::kHidden, (last == text.npos ? text.size() : last + 1) - at};
  }
  if (name == "sup") return {TagKind::kRaised, size, closing};
  if (name == "sub") return {TagKind::kLowered, size, closing};
  if (listed(word_lists().block_tags, name)) return {TagKind::kBlock, size, closing};
  const bool known =
      listed(word_lists().inline_tags, name) || listed(word_lists().control_tags, name) || closing;
  const bool unknown = !known && is_unknown_tag(text, at, name, to);
  if (!known && !unknown) return {};
  const size_t role = name == "start_of_turn" ? role_size(text, to) : 0;
  return {TagKind::kInline, size + role, closing};
}

size_t control_size(std::string_view text, size_t at) {
  const size_t end = found(text, "]", at + 1, 8);
  return end != text.npos && listed(word_lists().control_marks, text.substr(at + 1, end - at - 1))
             ? end + 1 - at
             : 0;
}

}  // namespace syrinx::english
