// Compares an Orpheus checkpoint in llama.cpp's format with the published layout.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "families/checkpoint_copy.h"
#include "families/orpheus/pipeline.h"
#include "io/file.h"
#include "io/weights.h"
#include "kernels/rope.h"
#include "model/step_runner.h"
#include "nn/llama_config.h"

namespace syrinx::orpheus {
namespace {

/// Collects the metadata and tensors of a GGUF file, in f32.
class GgufText {
 public:
  void number(const std::string& key, uint32_t value) { append_number(entry(key, 4), value); }
  void fraction(const std::string& key, float value) { append_number(entry(key, 6), value); }
  void text(const std::string& key, const std::string& value) { put(entry(key, 8), value); }
  void texts(const std::string& key, const std::vector<std::string>& values) {
    list(key, 8, values.size());
    for (const std::string& value : values) put(metadata_, value);
  }
  void numbers(const std::string& key, const std::vector<int32_t>& values) {
    list(key, 5, values.size());
    for (const int32_t value : values) append_number(metadata_, value);
  }
  /// Adds a tensor. `sizes`: the outermost size comes first.
  void tensor(const std::string& name, std::vector<int64_t> sizes, std::span<const float> values) {
    put(tensors_, name);
    append_number(tensors_, static_cast<uint32_t>(sizes.size()));
    for (size_t i = sizes.size(); i-- > 0;)
      append_number(tensors_, static_cast<uint64_t>(sizes[i]));
    append_number(tensors_, uint32_t{0});
    append_number(tensors_, uint64_t{data_.size()});
    append_array(data_, values);
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensor_count_;
  }
  std::string bytes() const {
    std::string out = "GGUF";
    append_number(out, uint32_t{3});
    append_number(out, tensor_count_);
    append_number(out, entry_count_);
    out += metadata_ + tensors_;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

 private:
  static void put(std::string& out, const std::string& text) {
    append_number(out, uint64_t{text.size()});
    out += text;
  }
  std::string& entry(const std::string& key, uint32_t type) {
    ++entry_count_;
    put(metadata_, key);
    append_number(metadata_, type);
    return metadata_;
  }
  void list(const std::string& key, uint32_t type, size_t count) {
    append_number(entry(key, 9), type);
    append_number(metadata_, uint64_t{count});
  }

  std::string metadata_, tensors_, data_;
  uint64_t tensor_count_ = 0, entry_count_ = 0;
};

/// The small checkpoint, with the original_max_position_embeddings that llama.cpp's converter
/// always uses. Also the same model as one GGUF file, in a folder with the codec.
class OrpheusGguf : public testing::Test {
 protected:
  OrpheusGguf() : copy_(SYRINX_BINARY_DIR "/parity/orpheus/golden/checkpoint") {
    copy_.replace("config.json", "\"original_max_position_embeddings\": 64",
                  "\"original_max_position_embeddings\": 8192");
    config_ = llm::load_model_config(Config::load(copy_.dir.path("config.json")));
    sizes();
    tokens();
    weights();
    std::filesystem::copy(copy_.dir.path("snac_24khz"), dir_.path("snac_24khz"));
    path_ = dir_.write("tiny.gguf", file_.bytes());
  }

  void sizes() {
    file_.text("general.architecture", "llama");
    for (const auto& [key, value] : {std::pair{"embedding_length", config_.lm.hidden},
                                     {"feed_forward_length", config_.lm.ffn},
                                     {"block_count", config_.lm.layers},
                                     {"attention.head_count", config_.lm.heads},
                                     {"attention.head_count_kv", config_.lm.kv_heads},
                                     {"attention.key_length", config_.lm.head_dim},
                                     {"context_length", 131072}}) {
      file_.number(std::string("llama.") + key, static_cast<uint32_t>(value));
    }
    file_.fraction("llama.attention.layer_norm_rms_epsilon", config_.lm.norm_eps);
    file_.fraction("llama.rope.freq_base", static_cast<float>(config_.lm.rope.theta));
  }
  /// The converter adds unused tokens, so that the vocabulary has as many as the table has rows.
  void tokens() {
    constexpr int32_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5;
    const auto json =
        nlohmann::json::parse(read_file(copy_.dir.path("tokenizer.json"), size_t{1} << 24));
    std::vector<std::string> texts, merges;
    for (int64_t id = 0; id < config_.vocab; ++id)
      texts.push_back("[PAD" + std::to_string(id) + "]");
    std::vector<int32_t> types(texts.size(), kUnused);
    for (const auto& [text, id] : json["model"]["vocab"].items()) {
      texts[id.get<size_t>()] = text;
      types[id.get<size_t>()] = kNormal;
    }
    for (const auto& token : json["added_tokens"]) {
      texts[token["id"].get<size_t>()] = token["content"];
      types[token["id"].get<size_t>()] = token["special"].get<bool>() ? kControl : kUserDefined;
    }
    for (const auto& merge : json["model"]["merges"]) {
      merges.push_back(merge.is_string()
                           ? merge.get<std::string>()
                           : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
    file_.text("tokenizer.ggml.model", "gpt2");
    file_.text("tokenizer.ggml.pre", "llama-bpe");
    file_.texts("tokenizer.ggml.tokens", texts);
    file_.numbers("tokenizer.ggml.token_type", types);
    file_.texts("tokenizer.ggml.merges", merges);
    const auto begin = std::ranges::find(texts, "<|begin_of_text|>") - texts.begin();
    file_.number("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(begin));
  }
  void weights() {
    const auto source = open_weights(copy_.dir.path());
    put(*source, "model.embed_tokens.weight", "token_embd.weight");
    put(*source, "model.norm.weight", "output_norm.weight");
    for (int i = 0; i < config_.lm.layers; ++i) {
      const std::string ours = "model.layers." + std::to_string(i) + ".",
                        theirs = "blk." + std::to_string(i) + ".";
      for (const auto& [from, to, heads] : {std::tuple{"input_layernorm", "attn_norm", 0},
                                            {"post_attention_layernorm", "ffn_norm", 0},
                                            {"self_attn.q_proj", "attn_q", config_.lm.heads},
                                            {"self_attn.k_proj", "attn_k", config_.lm.kv_heads},
                                            {"self_attn.v_proj", "attn_v", 0},
                                            {"self_attn.o_proj", "attn_output", 0},
                                            {"mlp.gate_proj", "ffn_gate", 0},
                                            {"mlp.up_proj", "ffn_up", 0},
                                            {"mlp.down_proj", "ffn_down", 0}}) {
        put(*source, ours + from + ".weight", theirs + to + ".weight", heads);
      }
    }
    // Writes the factors by which llama3's rule stretches wavelengths.
    RopeSpec plain = config_.lm.rope, stretched = plain;
    plain.dim = stretched.dim = config_.lm.head_dim;
    plain.scaling = {};
    const RopeTable before(plain, 1), after(stretched, 1);
    std::vector<float> factors;
    for (int i = 0; i < config_.lm.head_dim / 2; ++i)
      factors.push_back(before.inv_freq().f32()[i] / after.inv_freq().f32()[i]);
    file_.tensor("rope_freqs.weight", {config_.lm.head_dim / 2}, factors);
  }
  /// `heads`: number of heads whose two halves of rows become pairs; 0: rows are not changed.
  void put(WeightSource& source, const std::string& ours, const std::string& theirs,
           int heads = 0) {
    const Shape shape = source.shape(ours).value();
    const Tensor values = to_f32(source.take(ours, shape));
    std::vector<float> out(values.f32(), values.f32() + shape.count());
    const int64_t width = shape[-1], half = heads > 0 ? shape[0] / heads / 2 : 0;
    for (int64_t row = 0; heads > 0 && row < shape[0]; ++row) {
      const int64_t head = row / (2 * half), in_head = row % (2 * half);
      const int64_t to = head * 2 * half + in_head % half * 2 + in_head / half;
      std::copy_n(values.f32() + row * width, width, out.data() + to * width);
    }
    std::vector<int64_t> sizes;
    for (int i = 0; i < shape.dims(); ++i) sizes.push_back(shape[i]);
    file_.tensor(theirs, sizes, out);
  }

  CheckpointCopy copy_;
  TestDir dir_;
  llm::ModelConfig config_;
  GgufText file_;
  std::string path_;
};

TEST_F(OrpheusGguf, SpeaksAsThePublishedLayout) {
  EXPECT_TRUE(claims_file(GgufFile(path_)));
  const Orpheus published({copy_.dir.path(), "tiny", WeightType::kF32}),
      file({path_, "tiny", WeightType::kF32});
  EXPECT_EQ(file.info().speech.default_voice, "tara");
  EXPECT_EQ(file.config().max_positions, 8192);
  SpeechRequest request;
  request.say.text = "Hello there, <laugh> it isn't 1234!";
  request.voice.name = "leo";
  request.sampling.temperature = 0.f;
  request.terms.ignore_stop = true;
  Runner a(published), b(file);
  Track want = a.open(request), got = b.open(request);
  const auto ids = [](const Track& track) {
    return std::vector<int32_t>(track.state->prompt_ids().begin(), track.state->prompt_ids().end());
  };
  EXPECT_EQ(ids(got), ids(want));
  for (int i = 0; i < 21; ++i) a.step(want), b.step(got);
  EXPECT_EQ(got.logits, want.logits);
  EXPECT_EQ(got.frames, want.frames);
  EXPECT_EQ(got.frames.size(), 36u);
}

TEST_F(OrpheusGguf, OtherLlamasAreTextModels) {
  EXPECT_FALSE(claims_file(GgufFile(SYRINX_BINARY_DIR "/parity/gguf/llama.gguf")));
  EXPECT_FALSE(claims_file(GgufFile(SYRINX_BINARY_DIR "/parity/gguf/qwen2.gguf")));
  EXPECT_THROW(GgufFile(dir_.write("cut.gguf", "GGUF")), LoadError);
}

TEST_F(OrpheusGguf, TheNameOfAFileCanNameItsEdition) {
  std::filesystem::rename(path_, dir_.path("Svara-TTS-v1.Q4_K_M.gguf"));
  const Orpheus model({dir_.path("Svara-TTS-v1.Q4_K_M.gguf"), "any", WeightType::kF32});
  EXPECT_EQ(model.info().speech.default_voice, "Hindi (Female)");
}

}  // namespace
}  // namespace syrinx::orpheus
