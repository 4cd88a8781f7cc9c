// Encodes a whole recording with an encoder that works piece by piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/context.h"

namespace syrinx {

/// Returns the codes [T, C] of all samples. An Encoder must have open(), frames(), room() and
/// run(). A Config must have `codebooks` and hop().
template <typename Encoder, typename Config>
std::vector<int32_t> encode_whole(StepContext& ctx, const Encoder& encoder, const Config& config,
                                  std::span<const float> samples) {
  const int64_t q = config.codebooks, hop = config.hop(),
                total = encoder.frames(std::ssize(samples));
  std::vector<int32_t> codes(static_cast<size_t>(total * q));
  auto stream = encoder.open();
  for (int64_t at = 0; at < total;) {
    const int64_t n = std::min(total - at, encoder.room(ctx, stream));
    const auto begin = static_cast<size_t>(at * hop);
    const size_t count = std::min(static_cast<size_t>(n * hop), samples.size() - begin);
    encoder.run(ctx, stream, samples.subspan(begin, count),
                std::span(codes).subspan(static_cast<size_t>(at * q), static_cast<size_t>(n * q)));
    at += n;
  }
  return codes;
}

}  // namespace syrinx
