// Compares Chatterbox Turbo with the authors' code on small checkpoints of two shapes: clean text
// and ids, the voice's rows, logits, greedy tokens, samples of both modes. Also tests properties
// that only this family has (spoken_families_test.cc tests the others).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "families/chatterbox/text.h"
#include "families/chatterbox_turbo/pipeline.h"
#include "families/s3/fixture.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::chatterbox_turbo {
namespace {

class TurboParity : public testing::TestWithParam<const char*> {
 protected:
  std::string path(const std::string& name) const {
    return parity("chatterbox_turbo/golden/" + (GetParam() + ("/" + name)));
  }
  nlohmann::json cases() const {
    nlohmann::json all;
    std::ifstream(path("cases.json")) >> all;
    return all;
  }
  Safetensors golden(const nlohmann::json& c) const {
    return Safetensors(path(c["name"].get<std::string>() + ".safetensors"));
  }
  static SpeechRequest request_of(const nlohmann::json& c) {
    SpeechRequest request;
    request.say.text = c["text"];
    request.sampling.temperature = 0.f;
    request.sampling.seed = 7;
    return request;
  }

  const ChatterboxTurbo model_{{path("checkpoint"), "tiny"}};
};

TEST_P(TurboParity, TextsAndVoice) {
  for (const auto& c : cases()) {
    const std::string text = c["text"];
    EXPECT_EQ(chatterbox::clean(text, chatterbox::Punctuation::kTurbo),
              c["clean"].get<std::string>());
    const Safetensors file = golden(c);
    EXPECT_EQ(text_ids(model_.tokenizer(), text), ints(file.view("text_ids"))) << c["name"];
    const View want = file.view("voice");
    const Voice& voice = model_.voices().at("default");
    ASSERT_EQ(std::ssize(voice.prompt_speech) + 1, want.shape[0]);
    EXPECT_LT(relative(floats(voice.rows), floats(want.slice(0, 1))), 1e-6f);
  }
}

TEST_P(TurboParity, TagsAreTokensWhetherSpecialOrNot) {
  const Tokenizer& tokenizer = model_.tokenizer();
  for (const char* tag : {"[laugh]", "[sigh]"}) {
    const std::vector<int32_t> ids = text_ids(tokenizer, tag);
    EXPECT_EQ(ids.front(), tokenizer.need_id(tag));
    EXPECT_EQ(ids.size(), 2u) << "and a full stop";
  }
  EXPECT_GT(text_ids(tokenizer, "<|endoftext|>").size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TurboParity, testing::Values(".", "wide"),
                         [](const auto& shape) { return shape.index ? "Wide" : "Small"; });

class Turbo : public TurboParity {};

TEST_P(Turbo, SamplesOfTheFullMode) {
  const nlohmann::json c = cases().back();
  const Safetensors file = golden(c);
  const std::vector<int32_t> tokens = ints(file.view("tokens"));
  const GoldenSamples want(file, "samples_full");
  Runner runner(model_);
  SpeechRequest request = request_of(c);
  request.terms.flow = FlowMode::kFull;
  const auto state = open_only(model_, request);
  const std::vector<float> got = through_chunk_stages(
      model_.graph(), *state, std::span(tokens).first(static_cast<size_t>(want.count() / 960)),
      runner.context());
  ASSERT_EQ(std::ssize(got), want.count());
  EXPECT_LT(want.distance(got), 1e-4f);
}

TEST_P(Turbo, ThePenaltyLooksAtTheLastCode) {
  SpeechRequest request;
  request.say.text = "Hello.";
  const auto state = open_only(model_, request);
  EXPECT_EQ(model_.config().flow.steps, 2);
  EXPECT_EQ(model_.config().flow.branches(), 1);
  ASSERT_EQ(state->history(0).size(), 1u);
  EXPECT_EQ(state->history(0)[0], kStartSpeech);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  const int32_t code = 5;
  EXPECT_EQ(state->advance({&code, 1}, out).next, Verdict::kContinue);
  ASSERT_EQ(state->history(0).size(), 1u);
  EXPECT_EQ(state->history(0)[0], 5);
}

TEST_P(Turbo, SilenceCountsAgainstTheBound) {
  SpeechRequest request;
  request.say.text = "Hello.";
  request.terms.max_frames = 4;
  const auto state = open_only(model_, request);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  for (const int32_t code : {5, 6, kStopSpeech}) state->advance({&code, 1}, out);
  EXPECT_EQ(frames, (std::vector<int32_t>{5, 6, kSilence, kSilence}));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Turbo, testing::Values("."),
                         [](const auto&) { return std::string("Small"); });

}  // namespace
}  // namespace syrinx::chatterbox_turbo
