// Compares Chatterbox with the authors' code on a small checkpoint: clean text and ids, the voice's
// rows, merged logits, greedy tokens, samples. Also tests properties that only this family has
// (spoken_families_test.cc tests the others).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "families/chatterbox/pipeline.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::chatterbox {
namespace {

std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/chatterbox/golden/" + name;
}

float distance(const float* got, const View& want) {
  float worst = 0, top = 1e-30f;
  for (int64_t i = 0; i < want.count(); ++i) {
    worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
    top = std::max(top, std::fabs(want.f32()[i]));
  }
  return worst / top;
}

const Chatterbox& model() {
  static const Chatterbox m({golden_path("checkpoint"), "tiny"});
  return m;
}

nlohmann::json cases() {
  nlohmann::json all;
  std::ifstream(golden_path("cases.json")) >> all;
  return all;
}

TEST(ChatterboxParity, TextsAndVoice) {
  for (const auto& c : cases()) {
    const std::string text = clean(c["text"].get<std::string>());
    EXPECT_EQ(text, c["clean"].get<std::string>());
    const Safetensors golden(golden_path(c["name"].get<std::string>() + ".safetensors"));
    const View want = golden.view("voice");
    const Voice& voice = model().voices().at("default");
    ASSERT_EQ(voice.rows.shape(), want.shape);
    EXPECT_LT(distance(voice.rows.f32(), want), 1e-5f);
  }
  EXPECT_EQ(clean(" a   b "), "a b.");
}

TEST(ChatterboxParity, DegreesOfEmotion) {
  const Safetensors golden(golden_path("full.safetensors"));
  const View want = golden.view("emotional");
  const Voice& voice = model().voices().at("default");
  const Voice other = model().voice_rows().with_emotion(voice, 1.25f);
  ASSERT_EQ(other.rows.shape(), want.shape);
  EXPECT_LT(distance(other.rows.f32(), want), 1e-5f);
  EXPECT_NE(other.key, voice.key);
  SpeechRequest request;
  request.say.text = "Hello.";
  const auto first_row = [&] {
    auto opened = model().open(request);
    EXPECT_TRUE(opened.ok());
    std::array<int32_t, 4> ids;
    return row_of(opened.value().sequence(), 0, false, ids).data();
  };
  EXPECT_EQ(first_row(), voice.rows.f32());
  request.voice.exaggeration = 1.25f;
  const float* asked = first_row();
  EXPECT_EQ(asked, first_row());  // the rows are kept, so requests share pages of their prompts
  EXPECT_TRUE(std::equal(asked, asked + other.rows.shape().count(), other.rows.f32()));
}

TEST(Chatterbox, CodesThatAreNoTokensAreNotSpoken) {
  SpeechRequest request;
  for (int i = 0; i < 12; ++i) request.say.text += "The quick brown fox jumps over the lazy dog. ";
  const auto state = model().open(request).take().only();
  EXPECT_EQ(state->history(0).size(), 1u) << "the start of speech";
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  for (const int32_t code : {5, kStopSpeech, kStopSpeech + 1, 6, 7}) {
    EXPECT_NE(state->advance({&code, 1}, out).next, Verdict::kFinished);
  }
  EXPECT_EQ(frames, (std::vector<int32_t>{5, 6 | kS3SegmentStart, 7}));
}

TEST(Chatterbox, BoundsAPartByItsNetworks) {
  SpeechRequest request;
  request.say.text = "Hello.";
  request.terms.max_frames = 100'000;
  const int64_t most = std::min(kMostSteps, model().config().speech_positions - 1);
  EXPECT_EQ(model().open(request).take().sequence().max_steps(), most);
  request.sampling.top_k = 5;
  EXPECT_EQ(refusal_of(model(), request).param, "top_k");
}

TEST(Chatterbox, MissingAndDamagedFilesAreFaults) {
  const auto fault = [](const std::string& file, bool remove) {
    TestDir dir;
    std::filesystem::copy(golden_path("checkpoint"), dir.path("m"));
    if (remove) {
      std::filesystem::remove(dir.path("m/" + file));
    } else {
      dir.write("m/" + file, slurp(dir.path("m/" + file)).substr(0, 500));
    }
    try {
      const Chatterbox broken({dir.path("m"), "x"});
      return std::string("loaded");
    } catch (const LoadError& e) {
      return std::string(e.what());
    }
  };
  for (const char* file :
       {"t3_cfg.safetensors", "s3gen.safetensors", "tokenizer.json", "conds.pt"}) {
    EXPECT_NE(fault(file, false).find(file), std::string::npos) << file;
  }
  EXPECT_NE(fault("tokenizer.json", true).find("tokenizer.json"), std::string::npos);
  EXPECT_EQ(fault("conds.pt", true), "loaded");  // the voice file is not required
}

}  // namespace
}  // namespace syrinx::chatterbox
