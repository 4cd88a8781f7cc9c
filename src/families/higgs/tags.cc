#include "families/higgs/tags.h"

#include <array>

#include "base/check.h"

namespace syrinx::higgs {
namespace {

constexpr std::string_view kOpen = "<|", kClose = "|>";
constexpr std::array<std::string_view, 5> kDelivery{"<|emotion:", "<|style:", "<|prosody:speed_",
                                                    "<|prosody:pitch_", "<|prosody:expressive_"};
constexpr size_t kLongestTag = 64;

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

bool is_delivery(std::string_view tag) {
  for (const std::string_view start : kDelivery) {
    if (tag.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

std::optional<Tag> find_tag(std::string_view text, size_t from) {
  for (size_t at = from; (at = text.find(kOpen, at)) != text.npos; at += kOpen.size()) {
    const std::string_view rest = text.substr(at, kLongestTag);
    const size_t close = rest.find(kClose), colon = rest.find(':');
    if (close == rest.npos || colon >= close) continue;
    const size_t first = kOpen.size();
    if (is_name(rest.substr(first, colon - first)) &&
        is_name(rest.substr(colon + 1, close - colon - 1))) {
      return Tag{at, at + close + kClose.size()};
    }
  }
  return std::nullopt;
}

std::string_view leading_tags(std::string_view text) {
  size_t end = 0;
  for (auto tag = find_tag(text); tag && tag->begin == end; tag = find_tag(text, end)) {
    if (!is_delivery(text.substr(tag->begin, tag->end - tag->begin))) break;
    end = tag->end;
  }
  return text.substr(0, end);
}

Result<std::vector<int32_t>> text_ids(const Tokenizer& tokenizer, std::string_view text,
                                      const char* param) {
  std::vector<Section> tags;
  for (auto tag = find_tag(text); tag; tag = find_tag(text, tag->end)) {
    const std::string_view word = text.substr(tag->begin, tag->end - tag->begin);
    const std::optional<int32_t> id = tokenizer.id(word);
    if (!id) {
      return Error{ErrorCode::kInvalid,
                   concat("unknown tag ", word,
                          "; tags are such as <|emotion:sadness|>, <|style:whispering|>, "
                          "<|prosody:pause|>, <|sfx:laughter|>"),
                   param};
    }
    tags.push_back({*id, tag->begin, tag->end});
  }
  return tokenizer.encode_around(text, tags);
}

}  // namespace syrinx::higgs
