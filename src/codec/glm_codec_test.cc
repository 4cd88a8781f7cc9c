// Compares GLM-4-Voice's speech tokenizer, flow and vocoder with their authors' code
// (tests/parity/glm4_voice).
#include <gtest/gtest.h>

#include <optional>

#include "codec/glm_flow.h"
#include "codec/glm_speech_tokenizer.h"
#include "codec/hift_config.h"
#include "codec/qwen3_audio_fixture.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

std::string glm_golden(const std::string& name) {
  return parity_dir() + "glm4_voice/golden/" + name;
}

class GlmSpeech : public testing::Test {
 protected:
  GlmSpeech()
      : config_(GlmSpeechConfig::load(
            Config::load(glm_golden("checkpoint/glm-4-voice-tokenizer/config.json")))),
        weights_(open_weights(glm_golden("checkpoint/glm-4-voice-tokenizer"))) {
    weights_.build([&] { tokenizer_.emplace(config_, weights_, WeightType::kF32); });
  }

  /// Encodes as the stage does: segment by segment, and block by block, each with the samples of
  /// one block on both sides.
  std::vector<int32_t> codes(std::span<const float> samples) {
    std::vector<int32_t> out;
    const int64_t segment = tokenizer_->segment_samples(), block = tokenizer_->block_samples();
    for (int64_t at = 0; at < std::ssize(samples); at += segment) {
      const auto part = samples.subspan(at, std::min(segment, std::ssize(samples) - at));
      GlmSpeechTokenizer::State state = tokenizer_->open();
      const float loudest = tokenizer_->extremes(part).loudest;
      for (int64_t b = 0; b * block < std::ssize(part); ++b) {
        const int64_t begin = std::max<int64_t>(0, (b - 1) * block);
        const int64_t end = std::min((b + 2) * block, std::ssize(part));
        std::vector<int32_t> some(tokenizer_->block_codes(b, std::ssize(part)));
        tokenizer_->encode(bench_->ctx,
                           {std::ssize(part), loudest, begin, part.subspan(begin, end - begin)},
                           state, some);
        bench_->arena.reset();
        out.insert(out.end(), some.begin(), some.end());
      }
    }
    return out;
  }

  GlmSpeechConfig config_;
  Weights weights_;
  std::optional<GlmSpeechTokenizer> tokenizer_;
  std::unique_ptr<fixture::Bench> bench_ = std::make_unique<fixture::Bench>();
};

class GlmSpeechOn : public GlmSpeech, public testing::WithParamInterface<Device> {
 protected:
  void SetUp() override {
    if (GetParam() == Device::kCpu) return;
    if (const std::string why = device_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    tokenizer_->move_to(GetParam());
    bench_ = std::make_unique<fixture::Bench>(1, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GlmSpeechOn, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(GlmSpeechOn, CodesAreTheAuthors) {
  const Safetensors golden(glm_golden("speech.safetensors"));
  for (const int64_t length : {1, 401, 1280, 1281, 12800, 13121, 38400, 38401, 90003}) {
    const View want = golden.view("codes_" + std::to_string(length));
    EXPECT_EQ(codes(fixture::golden_signal(length, static_cast<uint32_t>(length))),
              std::vector<int32_t>(want.i32(), want.i32() + want.count()))
        << length;
  }
}

/// The key of a block must change exactly if a longer recording changes the block's codes.
TEST_F(GlmSpeech, KeysShowWhatStays) {
  const auto keys = [&](std::span<const float> samples) {
    return tokenizer_->keys(samples, tokenizer_->extremes(samples));
  };
  std::vector<float> all = fixture::golden_signal(38400, 5);
  const std::vector<uint64_t> whole = keys(all);
  ASSERT_EQ(whole.size(), 3u);
  const std::vector<int32_t> made = codes(all);
  const auto beginning = std::span(all).first(2 * 12800 + 320);
  const std::vector<uint64_t> begun = keys(beginning);
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_EQ(std::vector(begun.begin(), begun.begin() + 2),
            std::vector(whole.begin(), whole.begin() + 2));
  EXPECT_NE(begun[2], whole[2]);
  const std::vector<int32_t> first = codes(beginning);
  EXPECT_EQ(std::vector(first.begin(), first.begin() + 20),
            std::vector(made.begin(), made.begin() + 20));
  // The STFT window that extends beyond a block may reach the end of the recording.
  EXPECT_NE(keys(std::span(all).first(2 * 12800 + 319))[1], whole[1]);
  // A block depends on earlier blocks, but not on later blocks.
  all[0] += 0.01f;
  EXPECT_NE(keys(all)[2], whole[2]);
  all[0] -= 0.01f;
  for (size_t i = 30000; i < all.size(); ++i) all[i] /= 2;  // the remaining samples are quieter
  EXPECT_EQ(keys(all)[0], whole[0]);
  EXPECT_NE(keys(all)[2], whole[2]);
}

/// Only a block with values below the floor may depend on the loudest value elsewhere.
TEST_F(GlmSpeech, KeysKnowTheFloor) {
  const auto first_key = [&](float quiet, float loud) {
    std::vector<float> samples = fixture::golden_signal(38400, 5);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] *= i < 20000 ? quiet : loud;
    return tokenizer_->keys(samples, tokenizer_->extremes(samples)).front();
  };
  EXPECT_EQ(first_key(0.5f, 0.6f), first_key(0.5f, 1.f));
  EXPECT_NE(first_key(0.f, 0.6f), first_key(0.f, 1.f));
}

class GlmFlowGolden : public fixture::OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped() || GetParam() == Device::kCpu) return;
    flow_->move_to(GetParam());
  }
  GlmFlowGolden()
      : golden_(glm_golden("decoder.safetensors")),
        weights_(open_weights(glm_golden("checkpoint/glm-4-voice-decoder/flow.pt"))) {
    config_.vocab = 64, config_.width = 16, config_.heads = 2, config_.ffn = 24;
    config_.layers = 2, config_.mel = 16, config_.speaker = 24;
    config_.unet = {.channels = 8, .heads = 2, .head_dim = 8, .blocks = 1, .middle = 1};
    weights_.build([&] { flow_.emplace(config_, weights_, WeightType::kF32); });
    const View codes = golden_.view("codes");
    codes_.assign(codes.i32(), codes.i32() + codes.count());
  }

  GlmFlowConfig config_;
  Safetensors golden_;
  Weights weights_;
  std::optional<GlmFlow> flow_;
  std::vector<int32_t> codes_;
};
INSTANTIATE_TEST_SUITE_P(Devices, GlmFlowGolden, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(GlmFlowGolden, MelsAreTheAuthors) {
  fixture::Bench bench(1, GetParam());
  const bool few = fixture::emulated(GetParam());
  for (const int64_t tokens : few ? std::vector{11} : std::vector{1, 10, 11}) {
    const View want = golden_.view("mel_" + std::to_string(tokens));
    const View got = flow_->run(bench.ctx, std::span(codes_).first(tokens), {});
    ASSERT_EQ(got.shape, want.shape) << tokens;
    EXPECT_LT(fixture::difference(got, want), 2e-4) << tokens;
    bench.back();
    bench.arena.reset();
  }
}

/// Checks the vocoder with two rates. A whole short stream must match the authors' result, and a
/// stream in pieces must match the whole stream.
class GlmHift : public testing::Test {
 protected:
  GlmHift()
      : weights_(open_weights(glm_golden("checkpoint/glm-4-voice-decoder/hift.pt"))),
        config_(load_hift_config(
            HyperYaml::load(glm_golden("checkpoint/glm-4-voice-decoder/config.yaml")))) {
    weights_.build([&] { hift_.emplace(config_, weights_); });
  }

  /// Synthesises with the noise and phases of seed 7, in pieces of `piece` frames. `end_alone`: the
  /// last call has no frames.
  std::vector<float> speak(const View& mel, int64_t piece, bool end_alone) {
    std::vector<float> phases(9, 0.f), out;
    for (uint32_t k = 1; k < 9; ++k) phases[k] = philox_uniform(7, 0, k, 0x474C4D02) - 0.5f;
    HiftState state = hift_->open(phases);
    const auto noise = [](int64_t frame, std::span<float> values) {
      philox_normal(7, static_cast<uint32_t>(frame), 0x474C4D01, values);
    };
    const int64_t frames = mel.shape[0];
    const auto run = [&](int64_t begin, int64_t end, bool last) {
      const HiftJob job{&state, mel.slice(begin, end), last, noise, &out};
      hift_->run(bench_.ctx, {&job, 1});
      bench_.arena.reset();
    };
    for (int64_t at = 0; at < frames; at += piece) {
      const int64_t end = std::min(at + piece, frames);
      run(at, end, end == frames && !end_alone);
    }
    if (end_alone) run(0, 0, true);
    return out;
  }

  Weights weights_;
  HiftConfig config_;
  std::optional<Hift> hift_;
  fixture::Bench bench_;
};

TEST_F(GlmHift, SoundsAreTheAuthors) {
  const Safetensors golden(glm_golden("decoder.safetensors"));
  const View want = golden.view("sound_1");
  const std::vector<float> got = speak(golden.view("mel_1"), 100, false);
  ASSERT_EQ(std::ssize(got), want.count());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::fabs(double{got[i]} - want.f32()[i]));
  EXPECT_LT(worst, 1e-4);
}

TEST_F(GlmHift, PiecesGiveTheBitsOfTheWhole) {
  const Safetensors golden(glm_golden("decoder.safetensors"));
  const View mel = golden.view("mel_11");
  for (const int64_t frames : {1, 2, 6, 13, 75}) {
    const std::vector<float> whole = speak(mel.slice(0, frames), frames, false);
    EXPECT_EQ(std::ssize(whole), frames * 256);
    for (const int64_t piece : {1, 5, 74})
      for (const bool alone : {false, true})
        EXPECT_TRUE(speak(mel.slice(0, frames), piece, alone) == whole)
            << frames << " in " << piece << (alone ? ", end alone" : "");
  }
}

TEST(GlmFlow, FramesAreRoundedAsTheAuthors) {
  const GlmFlowConfig published;
  EXPECT_EQ(published.frames(1), 6);
  EXPECT_EQ(published.frames(25), 172);
  EXPECT_EQ(published.frames(1333), 9185);
}

}  // namespace
}  // namespace syrinx
