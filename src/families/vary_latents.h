// For tests: how requests of models that speak in latents differ (GoldenModel::vary). Voices are
// those of random numbers, as if recordings had been encoded.
#pragma once

#include <memory>
#include <utility>

#include "kernels/sample.h"
#include "model/request.h"
#include "model/voice.h"

namespace syrinx::golden {

/// Changes bounds, temperature and first chunk of the i-th of many parallel requests.
inline void vary_latents(int i, SpeechRequest& other) {
  if (i % 3 == 1) other.terms.max_frames = 10 + i;
  if (i % 3 == 2) other.sampling.temperature = 0.3f, other.terms.initial_chunk_frames = 1 + i % 5;
}
/// Makes a tensor of normal noise.
inline Tensor some_numbers(Shape shape) {
  Tensor out(std::move(shape), DType::kF32);
  philox_normal(static_cast<uint64_t>(out.shape().count()), 0, 0,
                {out.f32(), size_t(out.shape().count())});
  return out;
}
/// Also changes guidance, and the voice: a reference, or a reference and a continuation.
inline void vary_voxcpm2(int i, SpeechRequest& other) {
  vary_latents(i, other);
  other.sampling.guidance = 1.f + static_cast<float>(i % 4);
  if (i % 3 == 0) return;
  Voice voice{.family = "voxcpm2", .encoder = "1", .mode = "reference"};
  voice.tensors.emplace("reference", some_numbers({3 + i, 4, 8}));
  if (i % 3 == 2) {
    voice.mode = "reference+continuation", voice.text = "fine";
    voice.tensors.emplace("prompt", some_numbers({2 + i, 4, 8}));
  }
  other.voice.data = std::make_shared<const Voice>(std::move(voice));
}
/// Also changes the voice. `kWidth`: width of the model.
template <int kWidth>
void vary_pocket_tts(int i, SpeechRequest& other) {
  vary_latents(i, other);
  if (i % 3 == 1) other.voice.name = "default";
  if (i % 3 != 2) return;
  Voice voice{.family = "pocket_tts", .encoder = "1", .mode = "continuation"};
  voice.tensors.emplace("rows", some_numbers({4 + i, kWidth}));
  other.voice.data = std::make_shared<const Voice>(std::move(voice));
}
/// Also changes voice and guidance.
inline void vary_vibevoice(int i, SpeechRequest& other) {
  vary_latents(i, other);
  if (i % 3 == 1) other.voice.name = "ben";
  if (i % 3 == 2) other.sampling.guidance = 0.5f * static_cast<float>(i);
}

}  // namespace syrinx::golden
