// Compares Step-Audio 2's audio encoder, flow and vocoder with their authors' code
// (tests/parity/step_audio2).
#include <gtest/gtest.h>

#include <optional>

#include "codec/differences.h"
#include "codec/hift.h"
#include "codec/qwen3_audio_fixture.h"
#include "codec/s3_flow.h"
#include "codec/step_audio_encoder.h"
#include "io/file.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

constexpr int64_t kStepMel = 80;

std::string step_golden(const std::string& name) {
  return parity_dir() + "step_audio2/golden/" + name;
}

class StepAudioEncoderOn : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, StepAudioEncoderOn, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(StepAudioEncoderOn, RowsAreTheAuthors) {
  if (!is_file(step_golden("hearing.safetensors"))) GTEST_SKIP() << "the kit has no such golden";
  const auto config =
      StepAudioEncoderConfig::load(Config::load(step_golden("checkpoint/config.json")));
  const Weights weights(open_weights(step_golden("checkpoint")));
  StepAudioEncoderConfig sized = config;
  sized.hidden = (*weights.shape("adapter.linear1.bias"))[0];
  StepAudioEncoder encoder(sized, weights.scope("encoder"), weights.scope("adapter"),
                           WeightType::kF32);
  if (GetParam() != Device::kCpu) encoder.move_to(GetParam());
  const Safetensors golden(step_golden("hearing.safetensors"));
  fixture::Bench bench(2, GetParam());
  for (const int64_t length : {1, 160, 1281, 12800, 13121, 48001, 400000, 405000}) {
    if (GetParam() != Device::kCpu && length > 13121) continue;  // minutes on the emulation
    SCOPED_TRACE(length);
    const std::vector<float> all = fixture::golden_signal(length, static_cast<uint32_t>(length));
    std::vector<float> rows;
    for (int64_t at = 0; at < length; at += StepAudioEncoder::kPiece) {
      const int64_t piece = std::min(StepAudioEncoder::kPiece, length - at);
      StepAudioEncoder::Work work = encoder.open(piece);
      int steps = 0;
      for (; !work.done(); ++steps) {
        encoder.run(bench.ctx, work,
                    steps == 0 ? std::span(all).subspan(at, piece) : std::span<const float>());
        bench.arena.reset();
      }
      EXPECT_EQ(steps, StepAudioEncoder::count(piece) > 0 ? encoder.steps() : 0);
      const size_t before = rows.size();
      rows.resize(before + static_cast<size_t>(work.rows().count()));
      if (rows.size() > before) fetch(bench.ctx, work.rows(), std::span(rows).subspan(before));
      synchronize(bench.ctx);
    }
    const std::string name = std::to_string(length);
    const int64_t width = sized.out, count = std::ssize(rows) / width;
    EXPECT_EQ(count, golden.view("count_" + name).i32()[0]);
    const int64_t every = length > 100000 ? 16 : 1;
    const View want = golden.view("rows_" + name);
    ASSERT_EQ(want.shape[0], (count + every - 1) / every);
    if (count == 0) continue;
    Tensor got(want.shape, DType::kF32);
    for (int64_t i = 0; i < want.shape[0]; ++i)
      std::copy_n(rows.begin() + i * every * width, width, got.f32() + i * width);
    EXPECT_LT(fixture::difference(got, want), 1e-4);
  }
}

class StepFlow : public testing::Test {
 protected:
  explicit StepFlow(Device device = Device::kCpu)
      : golden_(step_golden("decoder.safetensors")),
        weights_(open_weights(step_golden("checkpoint/token2wav/flow.pt"))),
        bench_(2, device) {
    S3FlowConfig c;
    c.vocab = 40, c.width = 16, c.heads = 2, c.ffn = 24, c.layers = 2, c.up_layers = 1;
    c.dit = DitConfig{.depth = 2, .width = 16, .heads = 2, .head_dim = 8, .ffn = 64};
    c.whole_prompt = true;
    c.recent = 100;
    weights_.build([&] { flow_.emplace(c, weights_, WeightType::kF32, 4096); });
    if (device != Device::kCpu) flow_->move_to(device);
    const View codes = golden_.view("codes");
    codes_.assign(codes.i32(), codes.i32() + codes.count());
  }

  std::shared_ptr<const S3FlowVoice> voice(int64_t tokens) const {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < tokens; ++i) ids.push_back(static_cast<int32_t>((11 * i + 5) % 40));
    Tensor mel({2 * tokens, kStepMel}, DType::kF32);
    for (int64_t t = 0; t < 2 * tokens; ++t)
      philox_normal(4, static_cast<uint32_t>(t), 2, {mel.f32() + t * kStepMel, 80});
    for (int64_t i = 0; i < mel.view().count(); ++i) mel.f32()[i] = mel.f32()[i] * 0.5f - 1;
    std::vector<float> speaker(192);
    philox_normal(4, 0, 3, speaker);
    for (float& value : speaker) value *= 3;
    return flow_->voice(std::move(ids), std::move(mel), speaker);
  }

  /// Streams `tokens` tokens in calls of `step`. `end_alone`: the last call has no tokens.
  std::vector<float> stream(int64_t prompt, int64_t tokens, int64_t step, bool end_alone = false) {
    S3FlowState state = flow_->open(bench_.ctx, voice(prompt), noise_);
    return go_on(std::move(state), tokens, step, end_alone);
  }
  std::vector<float> go_on(S3FlowState state, int64_t tokens, int64_t step, bool end_alone) {
    std::vector<float> mel;
    const auto all = std::span(codes_).first(static_cast<size_t>(tokens));
    for (int64_t at = 0; at < tokens; at += step) {
      const int64_t end = std::min(at + step, tokens);
      const bool last = end == tokens && !end_alone;
      flow_->run(bench_.ctx, all.subspan(at, end - at), last, noise_, state, mel);
      bench_.back();
      bench_.arena.reset();
      if (!last) {
        EXPECT_EQ(std::ssize(mel), flow_->certain(end) * 2 * kStepMel);
      }
    }
    if (end_alone) flow_->run(bench_.ctx, {}, true, noise_, state, mel);
    return mel;
  }

  void expect_mel(const std::vector<float>& got, const std::string& name, int64_t every,
                  double bound) {
    const View want = golden_.view(name);
    const int64_t frames = std::ssize(got) / kStepMel;
    ASSERT_EQ((frames + every - 1) / every, want.shape[0]) << name;
    Tensor some(want.shape, DType::kF32);
    for (int64_t t = 0; t < want.shape[0]; ++t)
      std::copy_n(got.begin() + t * every * kStepMel, kStepMel, some.f32() + t * kStepMel);
    EXPECT_LT(fixture::difference(some, want), bound) << name;
  }

  std::function<void(int64_t, std::span<float>)> fill_ = [](int64_t frame, std::span<float> out) {
    philox_normal(3, static_cast<uint32_t>(frame), 1, out);
  };
  S3FlowNoise noise_{fill_};
  Safetensors golden_;
  Weights weights_;
  std::optional<S3Flow> flow_;
  std::vector<int32_t> codes_;
  fixture::Bench bench_;
};

TEST_F(StepFlow, WholeUtterancesAreTheAuthors) {
  for (const int64_t prompt : {9, 60}) {
    for (const int64_t tokens : {1, 33}) {
      std::vector<float> mel;
      flow_->whole(bench_.ctx, voice(prompt), std::span(codes_).first(static_cast<size_t>(tokens)),
                   noise_, mel);
      EXPECT_EQ(std::ssize(mel), 2 * tokens * kStepMel);
      expect_mel(mel, "whole_" + std::to_string(prompt) + "_" + std::to_string(tokens), 3, 1e-4);
    }
  }
}

/// Uses prompts shorter and longer than the recent past, and streams that just reach or just exceed
/// the limit of the past.
TEST_F(StepFlow, StreamsAreTheAuthors) {
  for (const int64_t prompt : {9, 60}) {
    for (const int64_t tokens : {3, 27, 28, 139})
      expect_mel(stream(prompt, tokens, tokens),
                 "stream_" + std::to_string(prompt) + "_" + std::to_string(tokens), 11, 1e-4);
  }
}

TEST_F(StepFlow, AStreamCutAnywhereIsTheSame) {
  const std::vector<float> whole = stream(9, 139, 139);
  for (const int64_t step : {1, 7, 25, 28, 60})
    EXPECT_EQ(stream(9, 139, step, step == 7), whole) << step;
}

/// Several streams share a prompt's pages. One stream drops its pages and overwrites them.
TEST_F(StepFlow, StreamsOfOnePromptStayApart) {
  const S3FlowState prompt = flow_->open(bench_.ctx, voice(60), noise_);
  const std::vector<float> alone = go_on(prompt.clone(), 139, 28, false);
  EXPECT_EQ(go_on(prompt.clone(), 139, 139, false), alone);
  EXPECT_EQ(stream(60, 139, 50), alone);
}

/// Two streams write to the page that the prompt filled partly. Each must get its own copy.
TEST_F(StepFlow, StreamsOfOnePromptTakeTurns) {
  static_assert(2 * 60 % KvPool::kPageRows != 0);
  const S3FlowState prompt = flow_->open(bench_.ctx, voice(60), noise_);
  const std::vector<int32_t> reversed(codes_.rbegin(), codes_.rend());
  const auto speak = [&](S3FlowState& state, std::span<const int32_t> codes,
                         std::vector<float>& mel) {
    flow_->run(bench_.ctx, codes, false, noise_, state, mel);
    bench_.arena.reset();
  };
  S3FlowState first = prompt.clone(), second = prompt.clone();
  std::vector<float> alone, mel, other;
  {
    S3FlowState one = prompt.clone();
    speak(one, std::span(codes_).first(112), alone);
  }
  for (size_t at = 0; at < 112; at += 28) {
    speak(first, std::span(codes_).subspan(at, 28), mel);
    speak(second, std::span(reversed).subspan(at, 28), other);
  }
  EXPECT_EQ(mel, alone);
  EXPECT_NE(other, alone);
}

class StepFlowSpeaks : public StepFlow, public testing::WithParamInterface<Device> {
 protected:
  StepFlowSpeaks() : StepFlow(device_missing(GetParam()).empty() ? GetParam() : Device::kCpu) {}
  void SetUp() override {
    if (const std::string why = device_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, StepFlowSpeaks, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// The stream's past is longer than the limit, so rows of a page that it shares move.
TEST_P(StepFlowSpeaks, AsOnTheCpuWithABoundedPast) {
  constexpr int64_t kPrompt = 20, kTokens = 28;
  S3FlowConfig config = flow_->config();
  config.recent = 20;
  const Weights weights(open_weights(step_golden("checkpoint/token2wav/flow.pt")));
  weights.build([&] { flow_.emplace(config, weights, WeightType::kF32, 512); });
  std::vector<float> want;
  {
    fixture::Bench cpu(2);
    S3FlowState state = flow_->open(cpu.ctx, voice(kPrompt), noise_);
    flow_->run(cpu.ctx, std::span(codes_).first(kTokens), true, noise_, state, want);
  }
  if (GetParam() != Device::kCpu) flow_->move_to(GetParam());
  const S3FlowState prompt = flow_->open(bench_.ctx, voice(kPrompt), noise_);
  const std::vector<float> got = go_on(prompt.clone(), kTokens, kTokens, false);
  EXPECT_LT(relative_difference(got, {want.data(), DType::kF32, {std::ssize(want)}}), 1e-4f);
  EXPECT_TRUE(go_on(prompt.clone(), kTokens, 9, false) == got);
}

TEST_F(StepFlow, AStreamsPastIsBounded) {
  const S3FlowConfig config = flow_->config();
  const Weights weights(open_weights(step_golden("checkpoint/token2wav/flow.pt")));
  weights.build([&] { flow_.emplace(config, weights, WeightType::kF32, 512); });
  S3FlowState state = flow_->open(bench_.ctx, voice(9), noise_);
  std::vector<float> mel;
  // The pool has pages for 512 frames. Without a limit, this stream alone would need 834.
  for (int i = 0; i < 3; ++i) {
    flow_->run(bench_.ctx, codes_, false, noise_, state, mel);
    bench_.arena.reset();
  }
  EXPECT_EQ(std::ssize(mel), flow_->certain(3 * std::ssize(codes_)) * 2 * kStepMel);
}

TEST_F(StepFlow, NarrowWeightsStayClose) {
  const std::vector<float> want = stream(9, 60, 60);
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    const Weights weights(open_weights(step_golden("checkpoint/token2wav/flow.pt")));
    const S3FlowConfig config = flow_->config();
    weights.build([&] { flow_.emplace(config, weights, type, 4096); });
    const std::vector<float> got = stream(9, 60, 60);
    double error = 0, power = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      error += std::pow(got[i] - want[i], 2), power += std::pow(want[i], 2);
    }
    EXPECT_LT(std::sqrt(error / power), 0.05);
    EXPECT_GT(error, 0);
  }
}

TEST_F(StepFlow, ItsMelSoundsAsTheAuthors) {
  HiftConfig config;
  config.channels = 16, config.f0_channels = 8;
  const Weights weights(open_weights(step_golden("checkpoint/token2wav/hift.pt")));
  std::optional<Hift> hift;
  weights.build([&] { hift.emplace(config, weights); });
  std::vector<float> mel;
  flow_->whole(bench_.ctx, voice(9), std::span(codes_).first(1), noise_, mel);
  const View want = golden_.view("sound");
  HiftState state = hift->open(std::vector<float>(9, 0.f));
  const auto draw = [](int64_t frame, std::span<float> values) {
    philox_normal(7, static_cast<uint32_t>(frame), 0x53330002, values);
  };
  std::vector<float> samples;
  const View rows{mel.data(), DType::kF32, {std::ssize(mel) / kStepMel, kStepMel}};
  const HiftJob job{&state, rows, true, draw, &samples};
  hift->run(bench_.ctx, {&job, 1});
  ASSERT_EQ(std::ssize(samples), want.count());
  EXPECT_LT(fixture::difference({samples.data(), DType::kF32, want.shape}, want), 1e-3);
}

}  // namespace
}  // namespace syrinx
