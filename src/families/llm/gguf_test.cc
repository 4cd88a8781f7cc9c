// Compares GGUF files, converted by llama.cpp from the checkpoints of tests/parity/llm, with those
// checkpoints.
#include "families/llm/gguf.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "families/llm/pipeline.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx::llm {
namespace {

std::string gguf_of(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/gguf/" + name + kGgufEnd;
}
std::string published_of(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/llm/" + name;
}

class GgufModel : public testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const GgufFile> file_ =
      std::make_shared<const GgufFile>(gguf_of(GetParam()));
  const std::string dir_ = published_of(GetParam());
  const Config root_ = Config::load(dir_ + "/config.json");
};

TEST_P(GgufModel, HasThePublishedSizes) {
  const ModelConfig got = load_gguf_config(*file_), want = load_model_config(root_);
  EXPECT_EQ(got.type, want.type);
  EXPECT_EQ(got.vocab, want.vocab);
  EXPECT_EQ(got.max_positions, want.max_positions);
  EXPECT_EQ(got.tied, want.tied);
  const DecoderConfig &a = got.lm, &b = want.lm;
  EXPECT_EQ(std::tuple(a.layers, a.hidden, a.heads, a.kv_heads, a.head_dim, a.ffn, a.norm_eps),
            std::tuple(b.layers, b.hidden, b.heads, b.kv_heads, b.head_dim, b.ffn, b.norm_eps));
  EXPECT_EQ(std::tuple(a.attention_bias, a.qk_norm, a.rope.theta),
            std::tuple(b.attention_bias, b.qk_norm, b.rope.theta));
  const RopeScaling &s = a.rope.scaling, &t = b.rope.scaling;
  EXPECT_EQ(std::tuple(s.factor, s.low_freq_factor, s.high_freq_factor),
            std::tuple(t.factor, t.low_freq_factor, t.high_freq_factor));
  EXPECT_EQ(s.original_positions, 8192);  // the converter always writes 8192 (the checkpoint: 64)
}

TEST_P(GgufModel, HasThePublishedWeights) {
  const ModelConfig config = load_gguf_config(*file_);
  const auto got = gguf_weights(file_, config);
  const auto want = open_weights(dir_);
  for (const std::string& name : want->names()) {
    const Shape shape = want->shape(name).value();
    const Tensor a = to_f32(want->take(name, shape));
    const View stored = got->take(name, shape);
    ASSERT_FALSE(stored.empty()) << name;
    const Tensor b = to_f32(stored);
    for (int64_t i = 0; i < shape.count(); ++i) ASSERT_EQ(a.f32()[i], b.f32()[i]) << name;
  }
  EXPECT_EQ(got->names().size(), want->names().size());
}

TEST_P(GgufModel, HasThePublishedTokenizer) {
  const Tokenizer got = load_gguf_tokenizer(*file_), want = Tokenizer::load(dir_);
  for (const char* text :
       {"The quick brown fox isn't here: 12345 apples.", "na\u00efve  caf\u00e9\n\n\ttabs", "",
        "e\u0301 \u6771\u4eac", "<|eot|>user<|h|>tail", "<|begin|>system\nx<|end|>"}) {
    EXPECT_EQ(got.encode(text), want.encode(text)) << text;
    EXPECT_EQ(got.encode(text, false), want.encode(text, false)) << text;
    EXPECT_EQ(got.decode(got.encode(text)), want.decode(want.encode(text))) << text;
  }
  EXPECT_EQ(got.prefix(), want.prefix());
}

TEST_P(GgufModel, IsLoadedWhole) {
  const Llm got({gguf_of(GetParam()), "tiny", WeightType::kF32});
  const Llm want({dir_, "tiny", WeightType::kF32});
  EXPECT_EQ(got.info().writing.calls_tools, want.info().writing.calls_tools);
  EXPECT_EQ(got.info().parts[0].shape, want.info().parts[0].shape);
  ASSERT_FALSE(got.generation().ends.empty());
  for (const int32_t id : got.generation().ends)
    EXPECT_TRUE(std::ranges::count(want.generation().ends, id)) << id;
}

INSTANTIATE_TEST_SUITE_P(Converted, GgufModel, testing::Values("llama", "qwen2"));

TEST(GgufTokenizer, OfCharactersWithScoresIsThatOfTransformers) {
  const Tokenizer tokenizer = load_gguf_tokenizer(GgufFile(gguf_of("vocab")));
  const auto cases =
      nlohmann::json::parse(read_file(SYRINX_BINARY_DIR "/parity/gguf/vocab.json", 1 << 20));
  for (const auto& c : cases) {
    const std::string text = c["text"];
    EXPECT_EQ(tokenizer.encode(text), c["ids"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), c["decoded"].get<std::string>()) << text;
  }
  EXPECT_EQ(tokenizer.prefix(), (std::vector<int32_t>{1}));
}

/// SmolLM3's tokenizer has its own name in the converter; it is Llama 3's without a begin token.
TEST(GgufTokenizer, OfSmolLm3IsLlama3s) {
  std::string bytes = slurp(gguf_of("llama"));
  const size_t at = bytes.find("llama-bpe");
  ASSERT_NE(at, bytes.npos);
  const TestDir dir;
  const GgufFile file(dir.write("smollm3.gguf", bytes.replace(at, 9, "smaug-bpe")));
  const Tokenizer got = load_gguf_tokenizer(file), want = Tokenizer::load(published_of("llama"));
  const char* const text = "The quick brown fox isn't here: 12345 apples.";
  EXPECT_EQ(got.encode(text), want.encode(text));
  EXPECT_EQ(got.prefix().empty(), !file.flag("tokenizer.ggml.add_bos_token", false));
}

TEST(GgufFaults, AreNamed) {
  const std::string bytes = slurp(gguf_of("qwen2"));
  const TestDir dir;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    for (size_t at; (at = changed.find(from)) != changed.npos;)
      changed.replace(at, from.size(), to);
    try {
      Llm({dir.write("m.gguf", changed), "tiny", WeightType::kF32});
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_fault(with("general.architecture", "general.architectura"),
               "m.gguf: general.architecture: is missing");
  expect_fault(with("qwen2.block_count", "qwen2.block_cound"), "qwen2.block_count: is missing");
  expect_fault(with("blk.1.ffn_up.weight", "blk.1.ffn_ub.weight"), "blk.1.ffn_up.weight");
  expect_fault(with("tokenizer.ggml.pre", "tokenizer.ggml.prx"), "tokenizer.ggml.pre: is missing");
}

}  // namespace
}  // namespace syrinx::llm
