#include "families/llm/token_masks.h"

#include <algorithm>
#include <utility>

namespace syrinx::llm {
namespace {

constexpr size_t kLongestToken = 256;  // bytes of a token; longer tokens are never allowed

}  // namespace

TokenMasks::TokenMasks(const Tokenizer& tokenizer, int32_t ids)
    : words_((static_cast<size_t>(ids) + 63) / 64) {
  std::vector<std::pair<std::string, int32_t>> all;
  for (int32_t id = 0; id < ids; ++id) {
    if (tokenizer.is_special(id)) continue;
    std::string bytes = tokenizer.bytes(id);
    if (!bytes.empty() && bytes.size() <= kLongestToken) all.emplace_back(std::move(bytes), id);
  }
  std::sort(all.begin(), all.end());
  tokens_.reserve(all.size());
  const std::string* before = nullptr;
  for (const auto& [bytes, id] : all) {
    size_t common = 0;
    if (before != nullptr)
      common = static_cast<size_t>(
          std::mismatch(bytes.begin(), bytes.end(), before->begin(), before->end()).first -
          bytes.begin());
    tokens_.push_back({id, static_cast<uint32_t>(bytes_.size()),
                       static_cast<uint16_t>(bytes.size()), static_cast<uint16_t>(common)});
    bytes_ += bytes;
    before = &bytes;
  }
}

std::vector<uint64_t> TokenMasks::behind(const JsonWriting& text) const {
  std::vector<uint64_t> out(words_, 0);
  std::vector<JsonWriting> after(kLongestToken + 1, text);  // [i]: state after i bytes of the token
  size_t taken = 0;                                         // number of accepted bytes
  for (const Token& token : tokens_) {
    // the shared beginning contains the byte that was not accepted
    if (token.common > taken) continue;
    taken = token.common;
    for (; taken < token.size; ++taken) {
      after[taken + 1] = after[taken];
      if (!after[taken + 1].push(static_cast<unsigned char>(bytes_[token.begin + taken]))) break;
    }
    if (taken == token.size)
      out[static_cast<size_t>(token.id) / 64] |= uint64_t{1} << (token.id % 64);
  }
  return out;
}

}  // namespace syrinx::llm
