// Reads a model's earlier answers in a conversation for its next prompt. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "model/request.h"

namespace syrinx {

/// Returns the ids of an earlier answer for a prompt: all ids or, if the client played only a part,
/// those up to the last played code. `codes_a_second`: rate at which codes are played. `is_code`
/// separates codes from text. Returns kInvalid if an id is outside of [0, known).
template <typename IsCode>
Result<std::span<const int32_t>> known_ids(const EarlierAnswer& answer, double codes_a_second,
                                           int64_t known, IsCode&& is_code) {
  const std::span<const int32_t> all = *answer.ids;
  const auto strange = [known](int32_t id) { return id < 0 || id >= known; };
  if (std::any_of(all.begin(), all.end(), strange))
    return Error{ErrorCode::kInvalid, "an earlier answer is not from this model", "messages"};
  if (!answer.heard_s) return all;
  auto left = static_cast<int64_t>(
      std::min(*answer.heard_s * codes_a_second, double{std::numeric_limits<int32_t>::max()}));
  size_t end = 0;
  for (size_t i = 0; i < all.size() && left > 0; ++i) {
    if (!is_code(all[i])) continue;
    --left;
    end = i + 1;
  }
  return left > 0 ? all : all.first(end);
}

}  // namespace syrinx
