// Compares the S3 flow with the original implementation (tests/parity/s3_flow): whole, in pieces,
// from a shared prompt, and at the edges of its chunks.
#include "codec/s3_flow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/worst.h"
#include "codec/differences.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "kernels/torch_random.h"

namespace syrinx {
namespace {

constexpr int64_t kMel = 80;

std::string s3_golden(const std::string& name) { return parity_dir() + "s3_flow/golden/" + name; }

S3FlowConfig small() {
  S3FlowConfig c;
  c.vocab = 40, c.width = 32, c.heads = 4, c.ffn = 48, c.layers = 2;
  c.chunk = 5;
  c.unet = {.channels = 16, .heads = 2, .head_dim = 8, .blocks = 2, .middle = 2};
  return c;
}

struct S3FlowFixture {
  explicit S3FlowFixture(WeightType type = WeightType::kF32, Device device = Device::kCpu)
      : golden(s3_golden("golden.safetensors")),
        weights(open_weights(s3_golden("model.safetensors"))),
        flow(small(), weights, type, 1024),
        bench(2, device) {
    EXPECT_NO_THROW(weights.finish());
    if (device != Device::kCpu) flow.move_to(device);
  }

  std::shared_ptr<const S3FlowVoice> voice(int64_t prompt, int64_t spare = 0) const {
    const View tokens = golden.view("prompt_tokens"), mel = golden.view("prompt_mel");
    const View speaker = golden.view("speaker");
    Tensor part({2 * prompt + spare, kMel}, DType::kF32);
    std::copy_n(mel.f32(), part.view().count(), part.f32());
    return flow.voice({tokens.i32(), tokens.i32() + prompt}, std::move(part),
                      {speaker.f32(), static_cast<size_t>(speaker.count())});
  }
  std::span<const int32_t> tokens(int64_t begin, int64_t end) const {
    const View all = golden.view("tokens");
    return {all.i32() + begin, static_cast<size_t>(end - begin)};
  }

  S3FlowState open(int64_t prompt) { return flow.open(ctx, voice(prompt), noise()); }
  std::vector<float> speak(S3FlowState& state, int64_t length, std::span<const int64_t> pieces,
                           bool end_alone = false) {
    std::vector<float> mel;
    int64_t begin = 0;
    const int64_t prompt = state.tokens();
    for (size_t i = 0; begin < length; ++i) {
      const int64_t end = std::min(begin + pieces[i % pieces.size()], length);
      flow.run(ctx, tokens(begin, end), end == length && !end_alone, noise(), state, mel);
      reset();
      if (end < length) {
        const int64_t certain = std::max<int64_t>(0, flow.certain(prompt + end) - prompt);
        EXPECT_EQ(static_cast<int64_t>(mel.size()), certain * 2 * kMel) << prompt << "+" << end;
      }
      begin = end;
    }
    if (end_alone) flow.run(ctx, {}, true, noise(), state, mel);
    return mel;
  }
  void reset() {
    bench.back();
    bench.arena.reset();
  }
  std::vector<float> whole(int64_t prompt, int64_t length) {
    const int64_t all[] = {length};
    S3FlowState state = open(prompt);
    return speak(state, length, all);
  }

  std::function<void(int64_t, std::span<float>)> fill = [this](int64_t frame,
                                                               std::span<float> out) {
    const View table = golden.view("noise");  // longer streams repeat the noise
    std::copy_n(table.f32() + frame % table.shape[0] * kMel, kMel, out.begin());
  };
  S3FlowNoise noise() { return fill; }

  Safetensors golden;
  Weights weights;
  S3Flow flow;
  fixture::Bench bench;
  StepContext& ctx = bench.ctx;
};

double relative_rms(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += std::pow(got[i] - want[i], 2), power += std::pow(want[i], 2);
  }
  return std::sqrt(error / power);
}

TEST(S3Flow, MatchesTheOriginal) {
  S3FlowFixture f;
  float worst = 0;
  for (const int64_t prompt : {0, 7, 18}) {
    for (const int64_t length : {1, 4, 5, 6, 8, 31}) {
      const std::vector<float> got = f.whole(prompt, length);
      const View want =
          f.golden.view("mel." + std::to_string(prompt) + "." + std::to_string(length));
      ASSERT_EQ(static_cast<int64_t>(got.size()), want.count());
      float top = 0, difference = 0;
      for (int64_t i = 0; i < want.count(); ++i) {
        top = std::max(top, std::fabs(want.f32()[i]));
        difference = worse(difference, std::fabs(got[i] - want.f32()[i]));
      }
      EXPECT_LT(difference, 1e-4f * top) << prompt << " + " << length;
      worst = worse(worst, difference / top);
    }
  }
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST(S3Flow, AttendsToAllAsTheOriginalDoes) {
  S3FlowFixture f;
  const Safetensors golden(s3_golden("full.safetensors"));
  float worst = 0;
  for (const auto& [prompt, length] : {std::pair{0, 6}, {7, 1}, {7, 31}, {18, 12}}) {
    std::vector<float> got;
    f.flow.whole(f.ctx, f.voice(prompt), f.tokens(0, length), f.noise(), got);
    const View want = golden.view(concat("full.", prompt, ".", length));
    ASSERT_EQ(static_cast<int64_t>(got.size()), want.count());
    worst = worse(worst, relative_difference(got, want));
    EXPECT_LT(worst, 1e-4f) << prompt << " + " << length;
    std::vector<float> again;
    f.flow.whole(f.ctx, f.voice(prompt), f.tokens(0, length), f.noise(), again);
    EXPECT_TRUE(again == got);  // old contents of pages have no effect
  }
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST(S3Flow, APromptMayEndInTheMiddleOfAToken) {
  S3FlowFixture f;
  const auto voice = f.voice(7, 1);
  EXPECT_EQ(f.flow.spare_frames(*voice), 1);
  std::vector<float> got;
  f.flow.whole(f.ctx, voice, f.tokens(0, 12), f.noise(), got);
  const Safetensors golden(s3_golden("full.safetensors"));
  const View want = golden.view("odd.7.12");
  // the first frame belongs to the prompt
  ASSERT_EQ(static_cast<int64_t>(got.size()), want.count() + kMel);
  EXPECT_LT(relative_difference(std::span(got).subspan(kMel), want), 1e-4f);
}

TEST(S3Flow, LongUtterancesNeedFewPages) {
  S3FlowFixture f;
  std::vector<int32_t> tokens(400);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 40);
  const auto noise = [](int64_t frame, std::span<float> out) {
    for (size_t c = 0; c < out.size(); ++c) out[c] = static_cast<float>((frame + 3 * c) % 5) - 2;
  };
  std::vector<float> mel;
  f.flow.whole(f.ctx, f.voice(0), tokens, noise, mel);
  EXPECT_EQ(mel.size(), size_t{800 * kMel});
  for (const float value : mel) ASSERT_TRUE(std::isfinite(value));
}

TEST(S3Flow, PiecesGiveTheBitsOfTheWhole) {
  S3FlowFixture f;
  const std::vector<std::vector<int64_t>> cuts{{1}, {2, 5, 1, 9}, {28, 3}};
  for (const int64_t prompt : {0, 7, 18}) {
    for (const int64_t length : {1, 6, 31}) {
      const std::vector<float> want = f.whole(prompt, length);
      for (const std::vector<int64_t>& pieces : cuts) {
        S3FlowState state = f.open(prompt);
        EXPECT_TRUE(f.speak(state, length, pieces) == want) << prompt << "+" << length;
        S3FlowState again = f.open(prompt);
        EXPECT_TRUE(f.speak(again, length, pieces, true) == want) << prompt << "+" << length;
      }
    }
  }
}

TEST(S3Flow, StreamsShareTheirPrompt) {
  S3FlowFixture f;
  const std::vector<float> want = f.whole(18, 31);
  const S3FlowState prompt = f.open(18);
  std::vector<S3FlowState> streams;
  std::vector<std::vector<float>> mels(3);
  for (int i = 0; i < 3; ++i) streams.push_back(prompt.clone());
  for (int64_t begin = 0; begin < 31; begin += 4) {  // runs while the other streams are open
    for (int i = 0; i < 3; ++i) {
      const int64_t end = std::min<int64_t>(begin + 4, 31);
      f.flow.run(f.ctx, f.tokens(begin, end), end == 31, f.noise(), streams[i], mels[i]);
    }
  }
  for (const std::vector<float>& mel : mels) EXPECT_TRUE(mel == want);
  S3FlowState later = prompt.clone();
  const int64_t all[] = {31};
  EXPECT_TRUE(f.speak(later, 31, all) == want);
}

class S3FlowSpeaks : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, S3FlowSpeaks, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// Two chunks: the emulation takes seconds for each.
TEST_P(S3FlowSpeaks, AsTheOriginalWholeOrInPieces) {
  S3FlowFixture f(WeightType::kF32, GetParam());
  const std::vector<float> got = f.whole(0, 6);
  const int64_t pieces[] = {2, 3, 1};
  S3FlowState state = f.open(0);
  EXPECT_TRUE(f.speak(state, 6, pieces, true) == got);
  std::vector<float> full;
  f.flow.whole(f.ctx, f.voice(7), f.tokens(0, 1), f.noise(), full);
  const Safetensors golden(s3_golden("full.safetensors"));
  const float worst = worse(relative_difference(got, f.golden.view("mel.0.6")),
                            relative_difference(full, golden.view("full.7.1")));
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

/// Two streams share a prompt whose last page is partly filled; the third has no prompt.
TEST_P(S3FlowSpeaks, TheSameTogetherAsAlone) {
  S3FlowFixture f(WeightType::kF32, GetParam());
  const S3FlowState prompt = f.open(8), none = f.open(0);
  constexpr int64_t kTokens[] = {2, 3, 6};
  std::vector<S3FlowState> streams;
  for (const S3FlowState* from : {&prompt, &prompt, &none}) streams.push_back(from->clone());
  std::vector<std::vector<float>> mels(3);
  std::vector<S3FlowJob> jobs;
  for (size_t i = 0; i < 3; ++i)
    jobs.push_back({f.tokens(0, kTokens[i]), true, f.noise(), &streams[i], &mels[i]});
  f.flow.run(f.ctx, jobs);
  f.reset();
  for (const size_t i : {1, 2}) {
    S3FlowState state = (i == 1 ? prompt : none).clone();
    EXPECT_TRUE(f.speak(state, kTokens[i], std::span(kTokens).subspan(i, 1)) == mels[i]) << i;
  }
}

TEST(S3Flow, PagesRunOutAndComeBack) {
  S3FlowFixture f;
  {
    S3FlowState state = f.open(0);
    std::vector<float> mel;
    EXPECT_THROW(for (int i = 0; i < 40; ++i)
                     f.flow.run(f.ctx, f.tokens(0, 31), false, f.noise(), state, mel),
                 InternalError);
  }
  EXPECT_EQ(f.whole(18, 31).size(), size_t{31 * 2 * kMel});
}

TEST(S3Flow, NarrowWeightsStayClose) {
  S3FlowFixture full, half(WeightType::kBF16), eight(WeightType::kQ8);
  const std::vector<float> want = full.whole(7, 31);
  const double bf16 = relative_rms(half.whole(7, 31), want);
  const double q8 = relative_rms(eight.whole(7, 31), want);
  EXPECT_GT(bf16, 0);
  EXPECT_LT(bf16, 0.02);
  EXPECT_LT(q8, 0.05);
  RecordProperty("bf16", std::to_string(bf16));
  RecordProperty("q8", std::to_string(q8));
}

TEST(S3Flow, NoiseOfTheOriginal) {
  S3FlowFixture f;
  std::vector<float> table(kMel * 15000);
  torch_randn(0, table);
  const View want = f.golden.view("noise");
  for (int64_t t = 0; t < want.shape[0]; ++t) {
    for (int64_t c = 0; c < kMel; ++c) {
      ASSERT_NEAR(table[c * 15000 + t], want.f32()[t * kMel + c], 2e-6f) << t << ", " << c;
    }
  }
}

}  // namespace
}  // namespace syrinx
