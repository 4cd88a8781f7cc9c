#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "families/checkpoint_copy.h"
#include "families/llm/fixture.h"
#include "families/llm/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::llm {
namespace {

using nlohmann::ordered_json;

class LlmParity : public testing::TestWithParam<const char*> {};

TEST_P(LlmParity, PromptLogitsAndTokens) {
  const Llm model(spec(GetParam()));
  for (const Case& c : load_cases(GetParam())) {
    const Safetensors golden = c.golden(GetParam());
    Runner runner(model);
    Track track = runner.open(c.request);
    ASSERT_TRUE(track.state) << c.name;
    const std::span<const int32_t> prompt = track.state->prompt_ids();
    EXPECT_EQ(std::vector<int32_t>(prompt.begin(), prompt.end()), ints(golden.view("prompt_ids")))
        << c.name;
    const auto tokens = ints(golden.view("tokens"));
    const View logits = golden.view("logits");
    for (int step = 0; step < c.steps && !track.finished; ++step) {
      runner.step(track);
      const std::span<const int32_t> ids = track.state->history(0);
      ASSERT_EQ(ids.back(), tokens[static_cast<size_t>(step)]) << c.name << ", step " << step;
      if (step < logits.shape[0]) {
        EXPECT_LT(relative(track.logits.back(), floats(logits.slice(step, step + 1))), 2e-5f)
            << c.name << ", step " << step;
      }
    }
    EXPECT_TRUE(track.finished) << c.name;
    EXPECT_EQ(static_cast<int>(track.logits.size()), c.steps) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LlmParity, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& type) { return std::string(type.param); });

// ---- Checkpoints

struct Copy : CheckpointCopy {
  explicit Copy(const std::string& type) : CheckpointCopy(golden_dir(type)) {
    config = ordered_json::parse(read_file(dir.path("config.json"), 1 << 20));
  }
  std::string fault(const ordered_json& changed) {
    dir.write("config.json", changed.dump());
    return load_fault_of([&] { Llm model({dir.path(), "tiny", WeightType::kF32}); });
  }
  ordered_json config;
};

class LlmQuantized : public testing::TestWithParam<const char*> {};

// The same 4-bit linear layers in the formats of GPTQ and AWQ (tests/parity/llm/make_quantized.py).
TEST_P(LlmQuantized, LogitsAreThoseOfTheWeightsMeant) {
  Copy copy("qwen3");
  const std::string method = GetParam(), made = golden_dir("quantized");
  {
    const Safetensors base(golden_dir("qwen3")), linears(made + "/" + method + ".safetensors");
    SafetensorsWriter all(copy.dir.path("model.safetensors"));
    for (const std::string& name : base.names()) {
      if (!name.ends_with("_proj.weight")) all.add(name, base.view(name));
    }
    for (const std::string& name : linears.names()) all.add(name, linears.view(name));
    all.finish();
  }
  copy.config["quantization_config"] = {
      {"quant_method", method}, {"bits", 4}, {"group_size", 32}, {"desc_act", false}};
  copy.dir.write("config.json", copy.config.dump());
  const Safetensors golden(made + "/golden.safetensors");
  const auto tokens = ints(golden.view("tokens"));
  const View logits = golden.view("logits");
  for (const auto& [type, bound] : {std::pair{WeightType::kF32, 2e-5f}, {WeightType::kQ4, 0.04f}}) {
    const Llm model({copy.dir.path(), "tiny", type});
    Runner runner(model);
    const std::vector<Case> all = load_cases("qwen3");
    Track track = runner.open(all.back().request);
    ASSERT_TRUE(track.state);
    for (int64_t step = 0; step < logits.shape[0]; ++step) {
      runner.step(track);
      EXPECT_LT(relative(track.logits.back(), floats(logits.slice(step, step + 1))), bound)
          << weight_type_name(type) << ", step " << step;
      if (track.state->history(0).back() != tokens[static_cast<size_t>(step)]) {
        EXPECT_NE(type, WeightType::kF32) << step;
        break;  // the answers differ after this step
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, LlmQuantized, testing::Values("gptq", "awq"),
                         [](const auto& method) { return std::string(method.param); });

TEST(LlmLoad, WithoutABaseOfAnglesItIsTransformers) {
  Copy copy("llama");
  copy.config.erase("rope_theta");
  copy.config.erase("rope_parameters");
  copy.dir.write("config.json", copy.config.dump());
  EXPECT_EQ(load_model_config(Config::load(copy.dir.path("config.json"))).lm.rope.theta, 1e4);
}

TEST(LlmLoad, WithoutSamplingTheLikeliestIdIsTaken) {
  Copy copy("qwen2");
  const auto temperature = [&](const ordered_json& asked) {
    copy.dir.write("generation_config.json", asked.dump());
    const Llm model({copy.dir.path(), "tiny", WeightType::kF32});
    SpeechRequest hello;
    hello.say.text = "Hello";
    return model.open(hello).take().only()->sampling(0).temperature;
  };
  EXPECT_EQ(temperature({{"do_sample", false}, {"temperature", 0.6}}), 0);
  EXPECT_FLOAT_EQ(temperature({{"do_sample", true}, {"temperature", 0.6}}), 0.6f);
  EXPECT_FLOAT_EQ(temperature({{"temperature", 0.6}}), 0.6f) << "as vLLM takes it";
}

TEST(LlmLoad, TokensBehindTheVocabularyAreRefused) {
  Copy copy("qwen3");
  const int32_t id = Tokenizer::load(golden_dir("qwen3")).encode("x").front();
  for (const int32_t vocabulary : {id, id + 1}) {
    copy.config["vocab_size"] = vocabulary;
    copy.dir.write("config.json", copy.config.dump());
    const Llm model({copy.dir.path(), "dummy", WeightType::kF32, true});
    SpeechRequest request;
    request.say.text = "x";
    EXPECT_EQ(model.open(request).ok(), vocabulary > id);
  }
}

TEST(LlmLoad, DummyWeightsNeedTheConfigOnly) {
  TestDir dir;
  dir.write("config.json", read_file(golden_dir("llama") + "/config.json", 1 << 20));
  const Llm model({dir.path(), "dummy", WeightType::kQ8, true});
  SpeechRequest request;
  request.say.text = "Hello.";
  EXPECT_TRUE(model.open(request).ok());
  request.writing.chat = std::make_shared<Chat>(Chat{"[]", ""});
  const auto refused = model.open(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(LlmClaims, DenseTextModelsOnly) {
  const auto claimed = [](const char* type, const char* architecture) {
    const ordered_json json = {{"model_type", type}, {"architectures", {architecture}}};
    return claims(Config::parse(json.dump(), "config.json"));
  };
  EXPECT_TRUE(claimed("llama", "LlamaForCausalLM"));
  EXPECT_TRUE(claimed("qwen2", "Qwen2ForCausalLM"));
  EXPECT_TRUE(claimed("qwen3", "Qwen3ForCausalLM"));
  EXPECT_TRUE(claimed("gemma3_text", "Gemma3ForCausalLM"));
  EXPECT_FALSE(claimed("gemma2", "Gemma3ForCausalLM"));
  EXPECT_FALSE(claimed("qwen3_moe", "Qwen3MoeForCausalLM"));
  EXPECT_FALSE(claimed("llama", "LlamaForSequenceClassification"));
  EXPECT_FALSE(claimed("qwen3", "Qwen3Model"));
  EXPECT_FALSE(claims(Config::parse("{}", "config.json")));
}

}  // namespace
}  // namespace syrinx::llm
