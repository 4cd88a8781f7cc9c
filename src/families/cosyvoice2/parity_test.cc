// CosyVoice2 and 3 compared with the authors' code on small checkpoints: parts and prompt ids,
// logits, greedy tokens, samples.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "families/cosyvoice2/pipeline.h"
#include "families/s3/fixture.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "model/step_runner.h"
#include "text/inflect.h"

namespace syrinx::cosyvoice2 {
namespace {

std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/cosyvoice2/golden/" + name;
}

SpeechRequest request_of(const nlohmann::json& c) {
  SpeechRequest request;
  request.say.text = c["text"];
  request.voice.name = c["voice"];
  request.say.instructions = c.value("instruct", "");
  request.sampling.temperature = 0.f;
  request.say.spell_numbers = false;  // these goldens were made without the package inflect
  return request;
}

class CosyVoice2Parity : public testing::Test {
 protected:
  CosyVoice2Parity() : model_({golden_path("checkpoint"), "tiny"}) {
    std::ifstream(golden_path("cases.json")) >> cases_;
  }
  CosyVoice2 model_;
  nlohmann::json cases_;
  std::vector<WordMark> words_;
};

TEST_F(CosyVoice2Parity, PartsOfTextsAreTheAuthors) {
  for (const auto& c : cases_) {
    EXPECT_EQ(model_.frontend().parts(c["text"].get<std::string>(), false),
              c["parts"].get<std::vector<std::string>>())
        << c["name"];
  }
}

// The golden is from the authors' program with the package inflect and without a normaliser.
TEST_F(CosyVoice2Parity, NumbersAreSpelledAsTheAuthorsSpellThem) {
  nlohmann::json golden;
  std::ifstream(golden_path("numbers.json")) >> golden;
  ASSERT_GE(golden["numbers"].size(), 20u);
  for (const auto& pair : golden["numbers"])
    EXPECT_EQ(inflect_number(pair[0].get<std::string>()), pair[1].get<std::string>());
  const Frontend& frontend = model_.frontend();
  for (const auto& c : golden["texts"]) {
    const std::string text = c["text"];
    EXPECT_EQ(frontend.parts(text), c["parts"].get<std::vector<std::string>>()) << text;
    EXPECT_EQ(frontend.prompt_text(text), frontend.ids(c["whole"].get<std::string>())) << text;
    SpeechRequest request;
    request.say.text = text;
    request.voice.name = "plain";
    const auto prompt = [&](std::optional<bool> spell) {
      request.say.spell_numbers = spell;
      const Opened opened = model_.open(request).take();
      const auto ids = opened.sequence().prompt_ids();
      return std::vector<int32_t>(ids.begin(), ids.end());
    };
    const bool changes = frontend.parts(text) != frontend.parts(text, false);
    EXPECT_EQ(prompt({}), prompt(true)) << text;
    EXPECT_EQ(prompt(true) != prompt(false), changes) << text;
  }
}

/// Compares prompts, the stored logits and the spoken tokens. `kept`: names of the golden tensors
/// of these tokens and of their number in each part.
void expect_speech(const CosyVoice2& model, const nlohmann::json& cases, const std::string& dir,
                   const std::pair<const char*, const char*>& kept) {
  const int32_t end = model.config().end_id();
  std::vector<WordMark> words;
  float worst = 0;
  for (const auto& c : cases) {
    const std::string name = c["name"];
    const Safetensors golden(dir + name + ".safetensors");
    const std::vector<int32_t> counts = ints(golden.view("counts"));
    const std::vector<int32_t> spoken = ints(golden.view(kept.second));
    const View logits = golden.view("logits");
    Runner runner(model);
    Track track = runner.open(request_of(c));
    std::vector<int32_t> prompts, frames, want = ints(golden.view(kept.first));
    size_t first = 0;
    for (size_t part = 0; part < counts.size(); ++part) {
      if (part > 0) {  // the authors' code begins the next part in any case
        StepOutput out(frames, words);
        const Verdict verdict = track.state->advance({&end, 1}, out);
        EXPECT_EQ(verdict.next, Verdict::kNextSegment);
        track.steps = 0;
        track.cached = std::min(track.cached, verdict.kept);
        want[first] |= kS3SegmentStart;
      }
      const std::span<const int32_t> ids = track.state->prompt_ids();
      prompts.insert(prompts.end(), ids.begin(), ids.end());
      for (int step = 0; step < counts[part]; ++step) {
        runner.step(track);
        ASSERT_FALSE(track.finished) << name << ", step " << step;
      }
      first += static_cast<size_t>(spoken[part]);
    }
    EXPECT_EQ(prompts, ints(golden.view("prompt_ids"))) << name;
    EXPECT_EQ(track.frames, want) << name;
    ASSERT_GE(std::ssize(track.logits), logits.shape[0]);
    for (int64_t row = 0; row < logits.shape[0]; ++row)
      worst = worse(worst, relative(track.logits[row], floats(logits.slice(row, row + 1))));
    if (c["ended"]) {
      EXPECT_EQ(track.state->rule(0).forced, end) << name;
    }
  }
  EXPECT_LT(worst, 1e-4f);
  testing::Test::RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

TEST_F(CosyVoice2Parity, PromptsLogitsAndGreedyTokens) {
  expect_speech(model_, cases_, golden_path(""), {"tokens", "counts"});
}

/// Returns the distance of the samples that the stages make of frames to golden ones.
float distance_of_sound(const CosyVoice2& model, const std::string& voice,
                        std::span<const int32_t> frames, const GoldenSamples& want,
                        FlowMode mode = FlowMode::kCausal) {
  SpeechRequest request;
  request.say.text = "Hello";
  request.voice.name = voice;
  request.sampling.seed = 7;
  request.terms.flow = mode;
  const auto state = model.open(request).take().only();
  Runner runner(model);
  return want.distance(through_chunk_stages(model.graph(), *state, frames, runner.context()));
}

/// Runs all frames of the golden tokens at once through a chain of stages.
TEST_F(CosyVoice2Parity, SamplesOfSeveralParts) {
  const Safetensors golden(golden_path("parts.safetensors"));
  std::vector<int32_t> frames = ints(golden.view("tokens"));
  const std::vector<int32_t> counts = ints(golden.view("counts"));
  ASSERT_EQ(counts.size(), 2u);
  frames[counts[0]] |= kS3SegmentStart;
  EXPECT_LT(distance_of_sound(model_, "owl", frames, GoldenSamples(golden)), 1e-4f);
}

class CosyVoice3Parity : public testing::TestWithParam<const char*> {
 protected:
  CosyVoice3Parity()
      : dir_(parity(concat("cosyvoice3/golden/", GetParam()))),
        model_({dir_ + "checkpoint", "tiny"}, kThirdEdition) {
    std::ifstream(dir_ + "cases.json") >> cases_;
  }
  std::string dir_;
  CosyVoice2 model_;
  nlohmann::json cases_;
};

TEST_P(CosyVoice3Parity, PartsOfTextsAreTheAuthors) {
  ASSERT_GE(cases_.size(), 2u);
  for (const auto& c : cases_) {
    EXPECT_EQ(model_.frontend().parts(c["text"].get<std::string>(), false),
              c["parts"].get<std::vector<std::string>>())
        << c["name"];
  }
}

TEST_P(CosyVoice3Parity, PromptsLogitsAndGreedyTokens) {
  expect_speech(model_, cases_, dir_, {"frames", "kept"});
}

TEST_P(CosyVoice3Parity, Samples) {
  float worst = 0;
  int compared = 0;
  for (const auto& c : cases_) {
    const Safetensors golden(dir_ + c["name"].get<std::string>() + ".safetensors");
    if (!golden.find("samples")) continue;
    std::vector<int32_t> frames = ints(golden.view("frames"));
    const std::vector<int32_t> kept = ints(golden.view("kept"));
    if (kept.size() > 1) frames[kept[0]] |= kS3SegmentStart;
    const std::string voice = c["voice"];
    worst = worse(worst, distance_of_sound(model_, voice, frames, GoldenSamples(golden)));
    if (golden.find("full.samples")) {
      worst =
          worse(worst, distance_of_sound(model_, voice, frames,
                                         GoldenSamples(golden, "full.samples"), FlowMode::kFull));
      ++compared;
    }
    ++compared;
  }
  EXPECT_EQ(compared, GetParam()[0] ? 1 : 4);
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Shapes, CosyVoice3Parity, testing::Values("", "wide/"),
                         [](const auto& test) { return test.param[0] ? "wide" : "small"; });

}  // namespace
}  // namespace syrinx::cosyvoice2
