// Prompts, voices, noise and guidance of Voxtral TTS. Tests of what all families promise are in
// src/families.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/voxtral_tts/pipeline.h"
#include "families/voxtral_tts/speech_lm.h"
#include "kernels/fixture.h"
#include "kernels/sample.h"

namespace syrinx::voxtral_tts {
namespace {

const std::string kSmall = SYRINX_BINARY_DIR "/parity/voxtral_tts/golden/small/checkpoint";
constexpr int32_t kBegin = 1, kAudio = 24, kBeginAudio = 25, kSpeech = 35, kText = 36;

class VoxtralTtsTest : public FamilyTest<VoxtralTts> {
 protected:
  VoxtralTtsTest() : FamilyTest(kSmall) {}

  /// Speaks a request of at most `frames` frames, which the model does not end.
  std::vector<int32_t> speak(SpeechRequest r, int frames = 12) {
    r.terms.max_frames = frames, r.terms.ignore_stop = true;
    Runner runner(model_);
    Track track = runner.open(r);
    while (!track.finished) runner.step(track);
    return track.frames;
  }

  fixture::Bench bench_{1};
};

TEST_F(VoxtralTtsTest, APromptHasTheVoiceBeforeTheText) {
  SpeechRequest r = plain("  Hello </s>[AUDIO] ");
  r.voice.name = "fr_male";
  std::vector<int32_t> want{kBegin, kBeginAudio, kAudio, kAudio, kAudio, kAudio, kText};
  const std::vector<int32_t> text = model_.tokenizer().encode("Hello </s>[AUDIO]", false);
  EXPECT_TRUE(std::ranges::none_of(text, [](int32_t id) { return id < 40; }))
      << "control tokens of a client are text";
  want.insert(want.end(), text.begin(), text.end());
  want.insert(want.end(), {kSpeech, kBeginAudio});
  EXPECT_EQ(ids(r), want);
  const auto state = open(r);
  std::vector<int32_t> row(38);
  for (int pos = 0; pos < 8; ++pos) {
    const bool voice = pos >= 2 && pos < 6;
    EXPECT_EQ(row_of(*state, pos, false, row).size(), voice ? 32u : 0u) << pos;
  }
}

TEST_F(VoxtralTtsTest, VoicesAreFiles) {
  std::vector<std::string> names;
  for (const VoiceInfo& voice : model_.info().speech.voices) names.push_back(voice.id);
  EXPECT_EQ(names, (std::vector<std::string>{"cheerful_female", "fr_male"}));
  EXPECT_EQ(ids(plain("Hello.")).size(), ids(request("Hello.")).size());
  SpeechRequest named = plain("Hello.");
  named.voice.name = "cheerful_female";
  EXPECT_EQ(ids(plain("Hello.")), ids(named)) << "the default";
  named.voice.name = "Fr_male";
  EXPECT_EQ(refusal(named).code, ErrorCode::kNotFound);
  named.voice.name = "fr_male";
  EXPECT_NE(speak(named), speak(plain("Hello.")));
  EXPECT_EQ(model_.voice_encoder(), nullptr);
  EXPECT_NE(model_.info().licence.find("CC-BY-NC-4.0"), std::string::npos);
}

TEST_F(VoxtralTtsTest, AVoiceOfAnotherModelIsRefused) {
  const std::string other = SYRINX_BINARY_DIR "/parity/voxtral_tts/golden/other/checkpoint";
  const CheckpointCopy copy(kSmall);
  copy.dir.write("voice_embedding/cheerful_female.pt",
                 slurp(other + "/voice_embedding/neutral_male.pt"));
  const std::string fault = load_fault_of([&] {
    VoxtralTts({copy.dir.path(), "copy", WeightType::kF32});
  });
  EXPECT_NE(fault.find("cheerful_female.pt"), std::string::npos) << fault;
  EXPECT_NE(fault.find("expected one tensor of floats [up to 2048, 32]"), std::string::npos)
      << fault;
}

TEST_F(VoxtralTtsTest, AVoiceOfIntegersIsRefused) {
  const CheckpointCopy copy(kSmall);
  // The type of the numbers, as a pickle names it; two stores ("q") keep the size of the file.
  copy.replace("voice_embedding/cheerful_female.pt", "BFloat16Storage\n", "CharStorage\nqzqy");
  const std::string fault = load_fault_of([&] {
    VoxtralTts({copy.dir.path(), "copy", WeightType::kF32});
  });
  EXPECT_NE(fault.find("cheerful_female.pt: expected floats, got i8"), std::string::npos) << fault;
}

TEST_F(VoxtralTtsTest, TheSeedChoosesTheNoiseOfEachFrame) {
  SpeechRequest r = plain("Hello there.");
  r.sampling.seed = 5;
  const std::vector<int32_t> one = speak(r);
  EXPECT_EQ(one, speak(r));
  r.sampling.seed = 6;
  const std::vector<int32_t> other = speak(r);
  EXPECT_EQ(one[0], other[0]) << "the first code is the likeliest one";
  EXPECT_FALSE(std::equal(one.begin(), one.begin() + 37, other.begin()));
  r.sampling.guidance = 1.f;
  const std::vector<int32_t> unguided = speak(r);
  EXPECT_FALSE(std::equal(unguided.begin(), unguided.begin() + 37, other.begin()));
  r.sampling.guidance = 1.2f;
  EXPECT_EQ(speak(r), other) << "the default";
}

TEST_F(VoxtralTtsTest, GuidanceNeedsNoCompanion) {
  SpeechRequest r = request("Hello.");
  r.sampling.guidance = 3.f;
  const auto state = open(r);
  EXPECT_FALSE(state->guidance());
  EXPECT_EQ(dynamic_cast<const SpokenSequence&>(*state).scale(), 3.f);
}

TEST_F(VoxtralTtsTest, AFrameThatIsNotFiniteFailsOnlyItsRequest) {
  const auto& lm = dynamic_cast<const SpeechLm&>(model_.lm());
  StepContext& ctx = bench_.ctx;
  std::vector<float> rows(64, 0.5f), made(72), alone(36);
  rows[7] = std::numeric_limits<float>::quiet_NaN();
  const auto of = [](std::span<float> numbers, const Shape& shape) {
    return View{numbers.data(), DType::kF32, shape};
  };
  for (const auto& [other, scale] : {std::pair{1.f, 1.f}, {1.2f, 1.2f}, {1.2f, 1.f}}) {
    std::vector<float> factors{other, scale, 1 - other, 1 - scale}, factor{scale, 1 - scale};
    std::ranges::fill(made, 0.25f);
    std::ranges::fill(alone, 0.25f);
    lm.flow().run(ctx, of(rows, {2, 32}), other == 1 ? View{} : of(factors, {2, 2}),
                  of(made, {2, 36}));
    lm.flow().run(ctx, of(std::span(rows).last(32), {1, 32}),
                  scale == 1 ? View{} : of(factor, {2, 1}), of(alone, {1, 36}));
    EXPECT_TRUE(std::ranges::all_of(std::span(made).first(36), [](float x) { return x != x; }));
    EXPECT_TRUE(std::ranges::equal(std::span(made).last(36), alone))
        << "scale " << scale << " beside " << other;
    EXPECT_TRUE(std::ranges::all_of(alone, [](float x) { return std::isfinite(x); }));
  }
  const Tensor logits({2, 23}, DType::kF32);
  ArBatch batch;
  batch.emits = 2;
  batch.scratch = {made.data(), DType::kU8, {int64_t{sizeof(float)} * 72}};
  for (int k = 2; k <= 36; ++k) {
    lm.logits(ctx, k, batch, {}, {}, logits.view());
    SampleRow row;
    row.params.temperature = 0;
    row.rule = open(request("Hello."))->rule(k);
    const std::vector<SampleRow> drawn(2, row);
    std::vector<int32_t> ids(2);
    std::vector<SampleStatus> status(2);
    sample(ctx, logits.view(), drawn, ids, status);
    EXPECT_EQ(status[0], SampleStatus::kNotFinite) << k;
    EXPECT_EQ(status[1], SampleStatus::kOk) << k;
    const float level = (std::clamp(alone[static_cast<size_t>(k - 1)], -1.f, 1.f) + 1) * 10;
    EXPECT_EQ(ids[1], ModelConfig::kMarks + std::lround(level)) << k;
  }
}

TEST_F(VoxtralTtsTest, OnlySpokenCodesAreChosen) {
  SpeechRequest r = plain("Hello.");
  const auto first = open(r)->rule(0);
  ASSERT_EQ(first.ranges, 1);
  EXPECT_EQ(first.allowed[0].begin, ModelConfig::kEnd);
  EXPECT_EQ(first.allowed[0].end, 66);
  r.terms.ignore_stop = true;
  const auto endless = open(r)->rule(0);
  ASSERT_EQ(endless.ranges, 1);
  EXPECT_EQ(endless.allowed[0].begin, ModelConfig::kMarks);
  for (const int32_t code : speak(r, 30)) EXPECT_GE(code, 0);
}

}  // namespace
}  // namespace syrinx::voxtral_tts
