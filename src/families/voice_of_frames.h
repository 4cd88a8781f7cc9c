// For tests: makes a voice from the frames of a recording.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "kernels/fixture.h"
#include "model/voice.h"

namespace syrinx {

/// Encodes a recording whose mode and rate the encoder accepts.
inline std::shared_ptr<const Voice> encode(const VoiceEncoder& encoder,
                                           const Recording& recording) {
  fixture::Bench bench(1);
  const auto work = encoder.open(recording);
  VoiceEncoding* one[] = {work.get()};
  while (!work->done()) encoder.run(bench.ctx, one), bench.arena.reset();
  return std::make_shared<const Voice>(work->take());
}

/// Makes a voice of the frames [T, C].
inline std::shared_ptr<Voice> voice_of_frames(const std::string& family,
                                              std::span<const int32_t> codes, int64_t codebooks,
                                              const std::string& text = "") {
  auto voice = std::make_shared<Voice>(Voice{
      .family = family, .encoder = "given", .mode = "in-context", .text = text, .seconds = 1});
  Tensor tensor({static_cast<int64_t>(codes.size()) / codebooks, codebooks}, DType::kI32);
  std::copy(codes.begin(), codes.end(), tensor.i32());
  voice->tensors.emplace("codes", std::move(tensor));
  return voice;
}

}  // namespace syrinx
