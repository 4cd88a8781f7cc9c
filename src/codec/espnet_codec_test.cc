// Compares ESPnet's codec with ESPnet itself on a small checkpoint (tests/parity/opuslm); checks
// streams.
#include "codec/espnet_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "io/golden_samples.h"
#include "io/parity_dir.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

std::string codec_golden(const std::string& name) { return parity_dir() + "opuslm/golden/" + name; }

EspnetCodec golden_codec() {
  const Weights weights(
      open_weights(codec_golden("checkpoint/espnet_codec_dac_large_v1.4_360epoch/360epoch.pth")));
  const Weights generator = weights.scope("codec.generator");
  EspnetCodec codec(EspnetCodecConfig::of(generator), generator, WeightType::kF32);
  generator.finish();
  return codec;
}

/// A stream of codes [T, Q], to be divided after `first` frames and then every `step` frames.
struct CodecCut {
  std::span<const int32_t> codes;
  int64_t first = 0, step = 1;
};

class EspnetCodecs : public fixture::OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (GetParam() != Device::kCpu && !IsSkipped()) codec_.move_to(GetParam());
  }

  /// Decodes streams beside each other. A call has the next chunk of each stream.
  std::vector<std::vector<float>> decode_all(std::span<const CodecCut> cuts) {
    const int64_t q = codec_.config().codebooks, hop = codec_.config().hop(),
                  look = codec_.config().lookahead();
    struct Stream {
      EspnetCodecState state;
      int64_t next = 0;
    };
    std::vector<Stream> streams;
    std::vector<std::vector<float>> outs;
    for (const CodecCut& cut : cuts) {
      streams.push_back({codec_.open(), cut.first});
      outs.emplace_back(static_cast<size_t>(std::ssize(cut.codes) / q * hop));
    }
    for (bool more = true; more;) {
      std::vector<EspnetCodecJob> jobs;
      for (size_t i = 0; i < cuts.size(); ++i) {
        auto& [state, next] = streams[i];
        const int64_t at = state.frames(), frames = std::ssize(cuts[i].codes) / q;
        if (at == frames) continue;
        const int64_t fresh = std::min(next, frames - at);
        const int64_t window = std::min(fresh + look, frames - at);
        // A chunk is the last one if its lookahead exceeds the remaining frames.
        const bool last = window < fresh + look || at + window == frames;
        const int64_t taken = last && window < fresh + look ? window : fresh;
        jobs.push_back({&state, cuts[i].codes.subspan(at * q, window * q), taken, last,
                        std::span(outs[i]).subspan(at * hop, taken * hop)});
        next = cuts[i].step;
      }
      more = !jobs.empty();
      if (more) codec_.run(bench_.ctx, jobs);
    }
    return outs;
  }
  std::vector<float> decode(const CodecCut& cut) { return decode_all({&cut, 1}).front(); }
  std::span<const int32_t> codes(int64_t frames) const {
    const auto count = static_cast<size_t>(frames * codec_.config().codebooks);
    return {golden_.view("codes").i32(), count};
  }
  /// Returns the number of frames of the longest stream. Long ones take the emulation minutes.
  int64_t frames() const {
    const int64_t all = golden_.view("codes").count() / codec_.config().codebooks;
    return fixture::emulated(GetParam()) ? std::min<int64_t>(all, 14) : all;
  }

  const Safetensors golden_{codec_golden("codec.safetensors")};
  EspnetCodec codec_ = golden_codec();
  fixture::Bench bench_{2, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Devices, EspnetCodecs, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(EspnetCodecs, SamplesAreThoseOfEspnet) {
  int compared = 0;
  for (const std::string& name : golden_.names()) {
    if (!name.starts_with("samples_")) continue;
    const int64_t frames = std::stoll(name.substr(8));
    const GoldenSamples want(golden_, name);
    EXPECT_EQ(want.count(), frames * codec_.config().hop());
    const float worst = want.distance(decode({codes(frames), 3, 4}));
    EXPECT_LT(worst, 1e-5f) << name;
    testing::Test::RecordProperty(name, std::to_string(worst * 1e6) + "e-6");
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

TEST_P(EspnetCodecs, ACutChangesNoBit) {
  const std::vector<float> whole = decode({codes(frames()), 1 << 20, 1});
  for (const auto& [first, step] : {std::pair{1, 1}, {2, 7}, {5, 3}, {30, 2}}) {
    EXPECT_TRUE(decode({codes(frames()), first, step}) == whole) << first << " " << step;
  }
}

TEST_P(EspnetCodecs, TheSameBitsAloneAndInCompany) {
  // More frames together than a pass has on the CPU, and streams that begin and end between others.
  const CodecCut cuts[] = {{codes(frames()), 30, 2}, {codes(5), 1, 1},   {codes(frames()), 2, 7},
                           {codes(1), 1, 1},         {codes(9), 9, 100}, {codes(12), 6, 3}};
  const std::vector<std::vector<float>> together = decode_all(cuts);
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_FALSE(together[i].empty());
    EXPECT_TRUE(decode(cuts[i]) == together[i]) << i;
  }
  EXPECT_TRUE(decode_all({}).empty());
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
      const MirroredConv1d::Job job{
          {x.data() + at, DType::kF32, {n, 1}}, &state, at + n == std::ssize(x)};
      const View got = conv.run(bench.ctx, {&job, 1}).x;
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
