#include "families/llm/architectures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "families/checkpoint_copy.h"
#include "families/llm/pipeline.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/same_steps.h"

namespace syrinx::llm {
namespace {

using nlohmann::ordered_json;

std::string kinds_dir() { return SYRINX_BINARY_DIR "/parity/llm/kinds/"; }

// The checkpoints of tests/parity/llm/make_kinds.py.
class LlmKind : public testing::TestWithParam<const char*> {
 protected:
  View golden(const char* name) const { return golden_.view(concat(GetParam(), ".", name)); }
  SpeechRequest prompt() const {
    SpeechRequest request;
    request.say.text = cases_["prompt"];
    request.sampling.temperature = 0.f;
    request.sampling.repetition_penalty = 1.f;
    request.terms.ignore_stop = true;
    request.writing.max_tokens = static_cast<int>(golden("tokens").count());
    return request;
  }
  static std::vector<int32_t> ids_of(Sequence& sequence) {
    const auto ids = sequence.prompt_ids();
    return {ids.begin(), ids.end()};
  }

  const Llm model_{{kinds_dir() + GetParam(), "tiny", WeightType::kF32}};
  const Safetensors golden_{kinds_dir() + "golden.safetensors"};
  const ordered_json cases_ = ordered_json::parse(read_file(kinds_dir() + "cases.json", 1 << 20));
};

TEST_P(LlmKind, GivesThePromptsLogitsAndTokensOfTransformers) {
  Runner runner(model_);
  Track track = runner.open(prompt());
  ASSERT_TRUE(track.state);
  EXPECT_EQ(ids_of(*track.state), ints(golden("ids")));
  const auto tokens = ints(golden("tokens"));
  const View logits = golden("logits");
  for (size_t step = 0; step < tokens.size(); ++step) {
    runner.step(track);
    ASSERT_EQ(track.state->history(0).back(), tokens[step]) << "step " << step;
    if (static_cast<int64_t>(step) >= logits.shape[0]) continue;
    const auto at = static_cast<int64_t>(step);
    EXPECT_LT(relative(track.logits.back(), floats(logits.slice(at, at + 1))), 2e-5f) << step;
  }
  EXPECT_TRUE(track.finished);
}

TEST_P(LlmKind, GivesTheSameBitsInABatchAndInChunks) {
  std::vector<SpeechRequest> requests{prompt(), prompt()};
  requests[1].say.text = "Why?";
  expect_same_alone_and_in_a_batch(model_, requests, 5);
  expect_a_dropped_cache_made_again(model_, requests[0]);
}

TEST_P(LlmKind, WritesChatsAsItsTemplateDoes) {
  SpeechRequest request;
  request.writing.chat = std::make_shared<Chat>(Chat{cases_["messages"].dump(), "", {}});
  auto opened = model_.open(request);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(ids_of(*opened.take().only()), ints(golden("chat_ids")));
}

INSTANTIATE_TEST_SUITE_P(Kinds, LlmKind,
                         testing::Values("mistral", "olmo2", "smollm3", "gemma2", "gemma3_text",
                                         "phi3"),
                         [](const auto& kind) { return std::string(kind.param); });

/// A GGUF file of a kind (tests/parity/gguf/make_kinds.py), and the values that GGUF cannot store.
struct Converted {
  const char* kind;
  ordered_json changes;
};
class GgufKinds : public testing::TestWithParam<Converted> {};

TEST_P(GgufKinds, GiveTheBitsOfTheCheckpointThatTheyWereMadeOf) {
  const auto& [kind, changes] = GetParam();
  CheckpointCopy copy(kinds_dir() + kind);
  ordered_json config = ordered_json::parse(read_file(copy.dir.path("config.json"), 1 << 20));
  config.update(changes);
  copy.dir.write("config.json", config.dump());
  const Llm want({copy.dir.path(), "tiny", WeightType::kF32});
  const Llm got(
      {SYRINX_BINARY_DIR "/parity/gguf/" + std::string(kind) + ".gguf", "tiny", WeightType::kF32});
  EXPECT_EQ(got.config().type, kind);
  EXPECT_EQ(got.config().max_positions, want.config().max_positions);
  SpeechRequest request;
  request.say.text = "The quick brown fox jumps over the lazy dog; nobody knows why.";
  request.sampling.temperature = 0.f;
  request.terms.ignore_stop = true;
  Runner a(got), b(want);
  Track one = a.open(request), other = b.open(request);
  ASSERT_TRUE(one.state && other.state);
  const auto ids = [](const Track& track) {
    const auto prompt = track.state->prompt_ids();
    return std::vector<int32_t>(prompt.begin(), prompt.end());
  };
  EXPECT_EQ(ids(one), ids(other));
  for (int step = 0; step < 4; ++step) {
    a.step(one), b.step(other);
    ASSERT_EQ(one.logits.back(), other.logits.back()) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GgufKinds,
                         testing::Values(Converted{"olmo2", ordered_json::object()},
                                         Converted{"smollm3", ordered_json::object()},
                                         Converted{"gemma2", {{"query_pre_attn_scalar", 16}}},
                                         Converted{"gemma3_text", ordered_json::object()},
                                         Converted{"phi3", ordered_json::object()}),
                         [](const auto& each) { return std::string(each.param.kind); });

/// Loads a kind with changed keys in its config. Returns the LoadError's message, if any.
std::string fault(const char* kind, const ordered_json& changes) {
  ordered_json config =
      ordered_json::parse(read_file(kinds_dir() + kind + "/config.json", 1 << 20));
  config.update(changes);
  try {
    load_model_config(Config::parse(config.dump(), "config.json"));
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(LlmKinds, NameWhatTheyCannotHave) {
  struct Row {
    const char* kind;
    ordered_json changes;
    const char* fault;
  };
  const ordered_json longrope = {{"rope_type", "longrope"},
                                 {"short_factor", {1, 1}},
                                 {"original_max_position_embeddings", 512}};
  ordered_json below = longrope;
  below["short_factor"] = {1, 1, 1, 1, 1, 1, 1, -1};
  const Row rows[] = {
      {"mistral", {{"sliding_window", 0}}, "sliding_window"},
      {"mistral", {{"hidden_act", "gelu"}}, "hidden_act: only silu"},
      {"olmo2", {{"rope_parameters", {{"rope_type", "yarn"}}}}, "yarn is not supported"},
      {"smollm3", {{"no_rope_layers", {1, 0}}}, "no_rope_layers: has 2 items for 4 layers"},
      {"smollm3", {{"no_rope_layers", {1, 0, 2, 1}}}, "no_rope_layers"},
      {"smollm3", {{"layer_types", {"full_attention"}}}, "layer_types: has 1 items for 4 layers"},
      {"smollm3",
       {{"layer_types", {"full_attention", "linear_attention", "x", "x"}}},
       "linear_attention is not supported"},
      {"gemma2", {{"hidden_activation", "gelu"}}, "only gelu_pytorch_tanh"},
      {"gemma2", {{"query_pre_attn_scalar", 0}}, "query_pre_attn_scalar"},
      {"gemma2", {{"final_logit_softcapping", -1}}, "final_logit_softcapping"},
      {"gemma3_text", {{"use_bidirectional_attention", true}}, "use_bidirectional_attention"},
      {"gemma3_text",
       {{"rope_parameters", {{"full_attention", {{"rope_type", "yarn"}}}}}},
       "yarn is not supported"},
      {"phi3", {{"rope_parameters", longrope}}, "short_factor: has 2 numbers, expected 8"},
      {"phi3", {{"rope_parameters", below}}, "short_factor: -1 is not above 0"},
      {"phi3",
       {{"rope_parameters", {{"partial_rotary_factor", 0.2}}}},
       "partial_rotary_factor: rotates 3 of 16 columns"},
      {"phi3", {{"rope_parameters", {{"rope_type", "linear"}}}}, "linear is not supported"},
  };
  for (const Row& row : rows) expect_fault(fault(row.kind, row.changes), row.fault);
}

TEST(LlmKinds, TakeWhatConfigsOfOlderVersionsLeaveOut) {
  const auto config = [](const char* kind, const ordered_json& changes,
                         std::initializer_list<const char*> without) {
    ordered_json json =
        ordered_json::parse(read_file(kinds_dir() + kind + "/config.json", 1 << 20));
    for (const char* key : without) json.erase(key);
    json.update(changes);
    return load_model_config(Config::parse(json.dump(), "config.json"));
  };
  const ModelConfig gemma2 =
      config("gemma2", ordered_json::object(),
             {"layer_types", "tie_word_embeddings", "sliding_window", "attn_logit_softcapping",
              "final_logit_softcapping", "rope_parameters", "head_dim", "query_pre_attn_scalar"});
  EXPECT_TRUE(gemma2.tied);
  EXPECT_EQ(gemma2.lm.score_cap, 50);
  EXPECT_EQ(gemma2.logit_cap, 30);
  EXPECT_EQ(gemma2.lm.head_dim, 256);
  EXPECT_EQ(gemma2.lm.query_scale, 1 / 16.f);
  ASSERT_EQ(gemma2.lm.layer_kinds.size(), 4u);
  EXPECT_EQ(gemma2.lm.layer_kinds[0].window, 4096);
  EXPECT_EQ(gemma2.lm.layer_kinds[1].window, 0);
  const ModelConfig gemma3 = config("gemma3_text",
                                    {{"rope_theta", 5e5},
                                     {"rope_local_base_freq", 2e4},
                                     {"sliding_window_pattern", 2},
                                     {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8}}}},
                                    {"layer_types", "rope_parameters"});
  EXPECT_EQ(gemma3.lm.rope.theta, 5e5);
  EXPECT_EQ(gemma3.lm.rope.factors, std::vector<float>(8, 8.f));
  EXPECT_EQ(gemma3.lm.local_rope->theta, 2e4);
  EXPECT_TRUE(gemma3.lm.local_rope->factors.empty());
  EXPECT_EQ(gemma3.lm.layer_kinds[0].rope, LayerKind::Rope::kLocal);
  EXPECT_EQ(gemma3.lm.layer_kinds[0].window, 12);
  EXPECT_EQ(gemma3.lm.layer_kinds[1].rope, LayerKind::Rope::kMain);
  EXPECT_EQ(gemma3.lm.layer_kinds[1].window, 0);
  const ModelConfig phi3 = config("phi3",
                                  {{"partial_rotary_factor", 0.75},
                                   {"rope_scaling",
                                    {{"type", "longrope"},
                                     {"short_factor", {1, 2, 3, 4, 5, 6}},
                                     {"long_factor", {1, 2, 3, 4, 5, 6}}}}},
                                  {"rope_parameters"});
  EXPECT_EQ(phi3.lm.rope.dim, 12);
  EXPECT_EQ(phi3.max_positions, 512) << "as far as the first training went";
  EXPECT_NEAR(phi3.lm.rope.gain, std::sqrt(1 + std::log(4.) / std::log(512.)), 1e-6);
  EXPECT_EQ(config("mistral", {{"sliding_window", nullptr}}, {}).lm.window, 0);
  const ModelConfig smol = config("smollm3", {{"use_sliding_window", true}, {"sliding_window", 7}},
                                  {"layer_types", "no_rope_layers", "no_rope_layer_interval"});
  EXPECT_EQ(smol.lm.layer_kinds[2].rope, LayerKind::Rope::kMain);
  EXPECT_EQ(smol.lm.layer_kinds[3].rope, LayerKind::Rope::kNone);
  EXPECT_EQ(smol.lm.layer_kinds[3].window, 7) << "layers that turn nothing may have a window";
}

TEST(LlmKinds, QwenSeesAWindowFromALayerOnWhereItIsAskedTo) {
  ordered_json json = ordered_json::parse(read_file(kinds_dir() + "../qwen2/config.json", 1 << 20));
  const auto kinds = [&] {
    return load_model_config(Config::parse(json.dump(), "config.json")).lm.layer_kinds;
  };
  EXPECT_TRUE(kinds().empty());
  json["use_sliding_window"] = true;
  json["max_window_layers"] = 1;
  ASSERT_EQ(kinds().size(), 2u);
  EXPECT_EQ(kinds()[0].window, 0);
  EXPECT_EQ(kinds()[1].window, 4096);
}

}  // namespace
}  // namespace syrinx::llm
