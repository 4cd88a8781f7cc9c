// Compares HiFT with the original implementation (tests/parity/hift): whole, in pieces, and at its
// ends.
#include "codec/hift.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/worst.h"
#include "io/golden_samples.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

constexpr int64_t kHop = 480;

std::string golden_path(const std::string& name) { return parity_dir() + "hift/golden/" + name; }

struct HiftFixture {
  explicit HiftFixture(const std::string& name, Device device = Device::kCpu)
      : kind(name),
        golden(golden_path("golden.safetensors")),
        weights(open_weights(golden_path("model.safetensors"))),
        hift(config(name), weights),
        bench(2, device) {
    EXPECT_NO_THROW(weights.finish());
    if (device != Device::kCpu) hift.move_to(device);
  }

  static HiftConfig config(const std::string& name) {
    HiftConfig c;
    c.mel = 12, c.channels = 32, c.f0_channels = 16;
    c.source.phase = name == "held" ? SinePhase::kHeld : SinePhase::kInterpolated;
    return c;
  }
  void run(const HiftJob& job) { hift.run(ctx, {&job, 1}); }
  View at(int64_t frames, const char* what) const {
    return golden.view(kind + "." + std::to_string(frames) + "." + what);
  }

  /// Synthesises `frames` frames in pieces whose sizes cycle through `pieces`. `end_alone`: the
  /// last call has no frames.
  std::vector<float> speak(int64_t frames, std::span<const int64_t> pieces,
                           bool end_alone = false) {
    HiftState state = hift.open({at(frames, "phases").f32(), 9});
    const float* normal = at(frames, "noise").f32();
    auto noise = [&](int64_t frame, std::span<float> out) {
      std::copy_n(normal + frame * kHop, kHop, out.begin());
    };
    const View mel = golden.view("mel");
    std::vector<float> out;
    int64_t begin = 0;
    for (size_t i = 0; begin < frames; ++i) {
      const int64_t end = std::min(begin + pieces[i % pieces.size()], frames);
      run({&state, mel.slice(begin, end), end == frames && !end_alone, noise, &out});
      bench.back();
      bench.arena.reset();
      const int64_t certain = std::max<int64_t>(0, end - hift.lookahead()) * kHop;
      EXPECT_GE(static_cast<int64_t>(out.size()), certain) << end << " of " << frames;
      begin = end;
    }
    if (end_alone) run({&state, mel.slice(0, 0), true, noise, &out});
    return out;
  }

  std::string kind;
  Safetensors golden;
  Weights weights;
  Hift hift;
  fixture::Bench bench;
  StepContext& ctx = bench.ctx;
};

class HiftGolden : public testing::TestWithParam<const char*> {};

TEST_P(HiftGolden, WholeMatchesTheOriginal) {
  HiftFixture f(GetParam());
  float worst = 0;
  for (const int64_t frames : {1, 2, 21, 70}) {
    const int64_t all[] = {frames};
    const std::vector<float> got = f.speak(frames, all);
    const GoldenSamples want(f.golden, f.kind + "." + std::to_string(frames) + ".samples");
    ASSERT_EQ(std::ssize(got), want.count());
    EXPECT_LT(want.distance(got), 1e-4f) << frames << " frames";
    worst = worse(worst, want.distance(got));
  }
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(HiftGolden, PiecesGiveTheBitsOfTheWhole) {
  HiftFixture f(GetParam());
  const std::vector<std::vector<int64_t>> cuts{{1}, {2, 5, 1, 9}, {32}, {33}, {69, 1}};
  for (const int64_t frames : {1, 2, 21, 70}) {
    const int64_t all[] = {frames};
    const std::vector<float> whole = f.speak(frames, all);
    for (const std::vector<int64_t>& pieces : cuts) {
      EXPECT_TRUE(f.speak(frames, pieces) == whole) << frames << " in pieces of " << pieces[0];
      EXPECT_TRUE(f.speak(frames, pieces, true) == whole) << frames << ", end alone";
    }
  }
}

class HiftSpeaks : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, HiftSpeaks, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(HiftSpeaks, AsTheOriginalWholeOrInPieces) {
  constexpr int64_t kFrames = 21, kAll[] = {kFrames}, kPieces[] = {2, 5, 1, 9};
  HiftFixture f("interpolated", GetParam());
  const std::vector<float> whole = f.speak(kFrames, kAll);
  const GoldenSamples want(f.golden, f.kind + ".21.samples");
  EXPECT_LT(want.distance(whole), 1e-4f);
  RecordProperty("worst", std::to_string(want.distance(whole) * 1e6) + "e-6");
  EXPECT_TRUE(f.speak(kFrames, kPieces) == whole);
  EXPECT_TRUE(f.speak(kFrames, kPieces, true) == whole) << "end alone";
}

TEST_P(HiftSpeaks, TheSameBitsAloneAndInCompany) {
  HiftFixture f("interpolated", GetParam());
  const int64_t lengths[] = {2, 21, 1};
  const View mel = f.golden.view("mel");
  struct Speaker {
    HiftState state;
    HiftNoise noise;
    int64_t frames, fed = 0;
    std::vector<float> out = {};
  };
  std::vector<Speaker> speakers;
  for (const int64_t frames : lengths) {
    const float* normal = f.at(frames, "noise").f32();
    speakers.push_back({f.hift.open({f.at(frames, "phases").f32(), 9}),
                        [normal](int64_t frame, std::span<float> out) {
                          std::copy_n(normal + frame * kHop, kHop, out.begin());
                        },
                        frames});
  }
  for (const int64_t piece : {1, 19, 2}) {
    std::vector<HiftJob> jobs;
    for (Speaker& s : speakers) {
      const int64_t begin = s.fed, end = std::min(begin + piece, s.frames);
      if (begin == s.frames) continue;
      s.fed = end;
      jobs.push_back({&s.state, mel.slice(begin, end), end == s.frames, s.noise, &s.out});
    }
    f.hift.run(f.ctx, jobs);
  }
  for (const Speaker& s : speakers) {
    const int64_t all[] = {s.frames};
    EXPECT_TRUE(f.speak(s.frames, all) == s.out) << s.frames;
    EXPECT_EQ(std::ssize(s.out), s.frames * kHop);
  }
}

TEST(Hift, LookaheadIsExact) {
  HiftFixture f("interpolated");
  EXPECT_EQ(f.hift.lookahead(), 20);
  const HiftNoise quiet = [](int64_t, std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.f);
  };
  const View mel = f.golden.view("mel");
  HiftState state = f.hift.open();
  std::vector<float> out;
  int64_t fed = 0;
  while (static_cast<int64_t>(out.size()) < kHop) {
    f.run({&state, mel.slice(fed, fed + 1), false, quiet, &out});
    ++fed;
  }
  EXPECT_EQ(fed, f.hift.lookahead() + 1);
}

TEST(Hift, AnEmptyStreamIsSilent) {
  HiftFixture f("held");
  std::vector<float> out;
  HiftState state = f.hift.open();
  const HiftNoise none = [](int64_t, std::span<float>) { FAIL(); };
  f.run({&state, f.golden.view("mel").slice(0, 0), true, none, &out});
  EXPECT_TRUE(out.empty());
}

TEST(Hift, Bf16WeightsStayClose) {
  HiftFixture f("interpolated");
  const int64_t all[] = {21};
  const std::vector<float> full = f.speak(21, all);
  Weights again(open_weights(golden_path("model.safetensors")));
  const size_t bytes = f.hift.bytes();
  f.hift = Hift(HiftFixture::config("interpolated"), again, WeightType::kBF16);
  EXPECT_LT(f.hift.bytes(), bytes);
  const std::vector<float> half = f.speak(21, all);
  double error = 0, power = 0;
  for (size_t i = 0; i < full.size(); ++i) {
    error += std::pow(half[i] - full[i], 2), power += std::pow(full[i], 2);
  }
  EXPECT_GT(error, 0);
  EXPECT_LT(std::sqrt(error / power), 0.05);
  RecordProperty("relative_rms", std::to_string(std::sqrt(error / power)));
}

INSTANTIATE_TEST_SUITE_P(Sources, HiftGolden, testing::Values("interpolated", "held"));

}  // namespace
}  // namespace syrinx
