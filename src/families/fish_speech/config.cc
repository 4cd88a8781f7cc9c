#include "families/fish_speech/config.h"

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace syrinx::fish_speech {
namespace {

constexpr int64_t kMostWidth = 1 << 16;
constexpr const char* kOlder = "dual_ar";

/// Reads the sizes of one of the two networks. As in the authors' code, both networks have the
/// slow network's rope and norms, which are in `text`.
DecoderConfig load_stack(const Config& c, const Config& text, bool qk_norm) {
  DecoderConfig d;
  const auto width = [&](const char* key) { return c.i<int>(key, 1, kMostWidth); };
  d.layers = c.i<int>("n_layer", 1, 512);
  d.hidden = width("dim");
  d.heads = width("n_head");
  d.kv_heads = c.opt_i<int>("n_local_heads", -1, -1, kMostWidth);
  if (d.kv_heads == -1) d.kv_heads = d.heads;
  c.check("n_local_heads", d.kv_heads >= 1 && d.heads % d.kv_heads == 0,
          "must divide n_head, " + std::to_string(d.heads));
  d.head_dim = c.i<int>("head_dim", 8, 256);
  c.check("head_dim", d.head_dim % 8 == 0, "must be a multiple of 8");
  d.ffn = width("intermediate_size");
  d.norm_eps = text.f<float>("norm_eps", 0, 1);
  d.rope.theta = text.f("rope_base", 1, 1e12);
  d.rope.layout = RopeLayout::kInterleaved;
  d.rope.bf16 = true;  // also if the weights have another type
  d.qk_norm = qk_norm;
  d.attention_bias = c.opt_b("attention_qkv_bias", text.opt_b("attention_qkv_bias", false));
  d.output_bias = c.opt_b("attention_o_bias", text.opt_b("attention_o_bias", false));
  d.names.attention_norm = "attention_norm";
  d.names.qkv = "attention.wqkv";
  d.names.q_norm = "attention.q_norm";
  d.names.k_norm = "attention.k_norm";
  d.names.o = "attention.wo";
  d.names.mlp_norm = "ffn_norm";
  d.names.gate = "feed_forward.w1";
  d.names.up = "feed_forward.w3";
  d.names.down = "feed_forward.w2";
  return d;
}

}  // namespace

bool claims(const Config& root) {
  const auto found = root.raw().find("model_type");
  return found != root.raw().end() && (*found == "fish_qwen3_omni" || *found == kOlder);
}

ModelConfig load_model_config(const Config& root) {
  root.check("model_type", root.opt_s("model_type", "") != kOlder,
             concat(kOlder,
                    " (Fish Speech 1, OpenAudio S1) is not supported; use S2, whose type is "
                    "fish_qwen3_omni"));
  const Config text = root.sub("text_config"), audio = root.sub("audio_decoder_config");
  ModelConfig m;
  const bool qk_norm = text.opt_b("attention_qk_norm", false);
  m.slow = load_stack(text, text, qk_norm);
  m.fast = load_stack(audio, text, audio.opt_b("attention_qk_norm", qk_norm));
  audio.check("dim", m.fast.hidden == m.slow.hidden,
              "is " + std::to_string(m.fast.hidden) + ", but text_config.dim is " +
                  std::to_string(m.slow.hidden) + "; a projection between them is not supported");
  text.only("tie_word_embeddings", true);
  m.vocab = text.i("vocab_size", 1, 1 << 24);
  m.max_positions = text.i("max_seq_len", 64, 1 << 20);
  m.codebooks = audio.i("num_codebooks", 2, 64);
  m.codes = audio.i("vocab_size", 2, 1 << 16);
  m.slow.rope_positions = m.max_positions;
  m.fast.rope_positions = m.codebooks;
  m.end_token = root.i<int32_t>("eos_token_id", 0, m.vocab - 1);
  m.semantic_begin = root.i<int32_t>("semantic_start_token_id", 0, m.vocab - m.codes);
  const int64_t last = root.i("semantic_end_token_id", 0, m.vocab - 1);
  root.check("semantic_end_token_id", last - m.semantic_begin + 1 == m.codes,
             "leaves " + std::to_string(last - m.semantic_begin + 1) +
                 " ids for codes, but the number of codes is " + std::to_string(m.codes));
  root.check("eos_token_id", m.end_token < m.semantic_begin || m.end_token > last,
             "is the id of a code");
  return m;
}

}  // namespace syrinx::fish_speech
