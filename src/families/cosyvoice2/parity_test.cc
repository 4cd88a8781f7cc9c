// Compares CosyVoice2 and 3 with the authors' code on small checkpoints: parts of texts, numbers,
// samples of the full mode. families/golden_models.h tests the rest.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

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
  request.say.spell_numbers = false;  // these golden files were made without the package inflect
  return request;
}

class CosyVoice2Parity : public testing::Test {
 protected:
  CosyVoice2Parity() : model_({golden_path("checkpoint"), "tiny"}) {
    std::ifstream(golden_path("cases.json")) >> cases_;
  }
  CosyVoice2 model_;
  nlohmann::json cases_;
};

TEST_F(CosyVoice2Parity, PartsOfTextsAreTheAuthors) {
  for (const auto& c : cases_) {
    EXPECT_EQ(model_.frontend().parts(c["text"].get<std::string>(), false),
              c["parts"].get<std::vector<std::string>>())
        << c["name"];
  }
}

// The golden file comes from the authors' program with the package inflect, without a normaliser.
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

/// Runs for each of the two golden checkpoints of CosyVoice3.
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

TEST_P(CosyVoice3Parity, SamplesOfTheFullMode) {
  int compared = 0;
  for (const auto& c : cases_) {
    const Safetensors golden(dir_ + c["name"].get<std::string>() + ".safetensors");
    if (!golden.find("full.samples")) continue;
    SpeechRequest request = request_of(c);
    request.sampling.seed = 7;
    request.terms.flow = FlowMode::kFull;
    const auto state = model_.open(request).take().only();
    Runner runner(model_);
    const GoldenSamples want(golden, "full.samples");
    EXPECT_LT(want.distance(through_chunk_stages(model_.graph(), *state,
                                                 ints(golden.view("frames")), runner.context())),
              1e-4f);
    ++compared;
  }
  EXPECT_EQ(compared, GetParam()[0] ? 0 : 1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CosyVoice3Parity, testing::Values("", "wide/"),
                         [](const auto& test) { return test.param[0] ? "wide" : "small"; });

}  // namespace
}  // namespace syrinx::cosyvoice2
