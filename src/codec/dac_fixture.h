// For tests: compares a codec of the DAC kind with the samples of a golden file.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "codec/dac_codec.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx::fixture {

/// Decodes the codes [T, Q] of the golden file, and compares the result with each of the file's
/// tensors samples_N. They must agree within `bound`. The first N frames are decoded in two chunks,
/// so that streams are compared, too. Returns the number of tensors.
inline int compare_golden(const DacCodec& codec, const std::string& path, uint64_t seed,
                          float bound) {
  const Safetensors file(path);
  const View codes = file.view("codes");
  const int64_t q = codec.config().codebooks, hop = codec.config().hop();
  const int64_t look = codec.config().lookahead();
  Bench bench;
  int compared = 0;
  for (const std::string& name : file.names()) {
    if (!name.starts_with("samples_")) continue;
    const int64_t frames = std::stoll(name.substr(8));
    const GoldenSamples want(file, name);
    EXPECT_EQ(want.count(), frames * hop);
    Tensor got({want.count()}, DType::kF32);
    DacCodecState state = codec.open(seed);
    const int64_t first = std::clamp<int64_t>(frames - look, 0, 3);
    const std::span<const int32_t> all(codes.i32(), static_cast<size_t>(frames * q));
    const std::span<float> out(got.f32(), static_cast<size_t>(frames * hop));
    if (first > 0) {
      const DacCodecJob job{&state, all.first((first + look) * q), first, first + look == frames,
                            out.first(first * hop)};
      codec.run(bench.ctx, std::span(&job, 1));
    }
    const DacCodecJob job{&state, all.subspan(first * q), frames - first, true,
                          out.subspan(first * hop)};
    codec.run(bench.ctx, std::span(&job, 1));
    const float worst = want.distance(out);
    EXPECT_LT(worst, bound) << name;
    testing::Test::RecordProperty(name, std::to_string(worst * 1e6) + "e-6");
    ++compared;
  }
  return compared;
}

}  // namespace syrinx::fixture
