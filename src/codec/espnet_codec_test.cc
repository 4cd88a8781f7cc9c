// Compares ESPnet's codec with ESPnet itself on a small checkpoint (tests/parity/opuslm); checks
// streams.
#include "codec/espnet_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "io/golden_samples.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

std::string codec_golden(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/opuslm/golden/" + name;
}

EspnetCodec golden_codec() {
  const Weights weights(
      open_weights(codec_golden("checkpoint/espnet_codec_dac_large_v1.4_360epoch/360epoch.pth")));
  const Weights generator = weights.scope("codec.generator");
  EspnetCodec codec(EspnetCodecConfig::of(generator), generator, WeightType::kF32);
  generator.finish();
  return codec;
}

/// Decodes the stream `codes` [T, Q], divided after `first` frames and then every `step` frames.
std::vector<float> decode(const EspnetCodec& codec, std::span<const int32_t> codes, int64_t first,
                          int64_t step) {
  fixture::Bench bench;
  const int64_t q = codec.config().codebooks, hop = codec.config().hop(),
                look = codec.config().lookahead(), frames = std::ssize(codes) / q;
  EspnetCodecState state = codec.open();
  std::vector<float> out(static_cast<size_t>(frames * hop));
  for (int64_t at = 0, next = first; at < frames; next = step) {
    const int64_t fresh = std::min(next, frames - at), window = std::min(fresh + look, frames - at);
    // A chunk is the last one if its lookahead exceeds the remaining frames.
    const bool last = window < fresh + look || at + window == frames;
    const int64_t taken = last && window < fresh + look ? window : fresh;
    codec.run(bench.ctx, {&state, codes.subspan(at * q, window * q), taken, last,
                          std::span(out).subspan(at * hop, taken * hop)});
    at += taken;
  }
  return out;
}

TEST(EspnetCodec, SamplesAreThoseOfEspnet) {
  const EspnetCodec codec = golden_codec();
  const Safetensors file(codec_golden("codec.safetensors"));
  const View all = file.view("codes");
  const int64_t q = codec.config().codebooks;
  int compared = 0;
  for (const std::string& name : file.names()) {
    if (!name.starts_with("samples_")) continue;
    const int64_t frames = std::stoll(name.substr(8));
    const GoldenSamples want(file, name);
    EXPECT_EQ(want.count(), frames * codec.config().hop());
    const std::vector<float> got =
        decode(codec, {all.i32(), static_cast<size_t>(frames * q)}, 3, 4);
    const float worst = want.distance(got);
    EXPECT_LT(worst, 1e-5f) << name;
    testing::Test::RecordProperty(name, std::to_string(worst * 1e6) + "e-6");
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

TEST(EspnetCodec, ACutChangesNoBit) {
  const EspnetCodec codec = golden_codec();
  const Safetensors file(codec_golden("codec.safetensors"));
  const View all = file.view("codes");
  const std::span<const int32_t> codes(all.i32(), static_cast<size_t>(all.count()));
  const std::vector<float> whole = decode(codec, codes, 1 << 20, 1);
  for (const auto& [first, step] : {std::pair{1, 1}, {2, 7}, {5, 3}, {30, 2}}) {
    EXPECT_TRUE(decode(codec, codes, first, step) == whole) << first << " " << step;
  }
}

TEST(EspnetCodec, SizesAreThoseOfTheTensors) {
  const EspnetCodecConfig c = golden_codec().config();
  EXPECT_EQ(c.codebooks, 8);
  EXPECT_EQ(c.codebook_size, 16);
  EXPECT_EQ(c.decoder.ratios, (std::vector<int64_t>{8, 5, 4, 2}));
  EXPECT_EQ(c.decoder.units, 3);
  EXPECT_EQ(c.decoder.lstm, 2);
  EXPECT_EQ(c.hop(), 320);
  EXPECT_EQ(c.lookahead(), 7);
}

TEST(EspnetCodec, AMirroredConvolutionLooksAtBothSides) {
  // One channel, three taps 1 2 4, dilation 2: row t depends on t - 2, t and t + 2.
  Tensor weight({1, 1, 3}, DType::kF32), bias({1}, DType::kF32);
  weight.f32()[0] = 1, weight.f32()[1] = 2, weight.f32()[2] = 4, bias.f32()[0] = 0;
  const MirroredConv1d conv(weight, bias, {.dilation = 2});
  const auto run = [&](std::vector<float> x, int64_t piece) {
    fixture::Bench bench;
    auto state = conv.open();
    std::vector<float> out;
    for (int64_t at = 0; at < std::ssize(x); at += piece) {
      const int64_t n = std::min(piece, std::ssize(x) - at);
      const View got =
          conv.run(bench.ctx, {x.data() + at, DType::kF32, {n, 1}}, at + n == std::ssize(x), state);
      out.insert(out.end(), got.f32(), got.f32() + got.count());
    }
    return out;
  };
  for (const int64_t piece : {1, 2, 3, 5}) {
    // Rows -2 and -1 mirror 30 and 20, rows 5 and 6 mirror 40 and 30.
    EXPECT_EQ(run({10, 20, 30, 40, 50}, piece),
              (std::vector<float>{30 + 20 + 120, 20 + 40 + 160, 10 + 60 + 200, 20 + 80 + 160,
                                  30 + 100 + 120}));
    // Two rows are extended to three by a zero, mirrored, and cut: 0 20 | 10 20 | 0 20.
    EXPECT_EQ(run({10, 20}, piece), (std::vector<float>{0 + 20 + 0, 20 + 40 + 80}));
  }
}

}  // namespace
}  // namespace syrinx
