#include "families/qwen3_omni/config.h"

#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "families/loading/checkpoint.h"

namespace syrinx::qwen3_omni {
namespace {

/// Reads decoder blocks like Qwen3's, but not their feed-forward part.
DecoderConfig load_blocks(const Config& c) {
  DecoderConfig d;
  const auto size = [&](const char* key, int64_t most) { return c.i<int>(key, 1, most); };
  d.hidden = size("hidden_size", 1 << 16);
  d.layers = size("num_hidden_layers", 512);
  d.heads = size("num_attention_heads", 512);
  d.kv_heads = size("num_key_value_heads", 512);
  d.head_dim = c.opt_i<int>("head_dim", d.hidden / d.heads, 2, 256);
  d.norm_eps = c.f<float>("rms_norm_eps", 0, 1);
  d.qk_norm = true;
  // transformers 5 writes "rope_parameters". Earlier versions wrote "rope_theta" and
  // "rope_scaling".
  const auto rope = c.opt_sub("rope_parameters"), scaling = c.opt_sub("rope_scaling");
  d.rope.theta = (rope ? *rope : c).f("rope_theta", 1);
  for (const auto* part : {&rope, &scaling}) {
    if (!*part) continue;
    const std::string type = (*part)->opt_s("rope_type", (*part)->opt_s("type", "default"));
    if (type != "default") (*part)->fail("rope_type", type + " is not supported");
  }
  c.check("num_key_value_heads", d.heads % d.kv_heads == 0, "must divide the heads");
  c.check("head_dim", d.head_dim >= 8 && d.head_dim % 8 == 0, "must be a multiple of 8");
  c.only("hidden_act", "silu");
  c.only("attention_bias", false);
  c.only("use_sliding_window", false);
  return d;
}

MoeConfig load_experts(const Config& c, bool normalised) {
  MoeConfig m;
  const auto size = [&](const char* key, int64_t most) { return c.i<int>(key, 1, most); };
  // transformers 5 writes the talker's number of experts under the second name.
  m.experts = size(c.has("num_experts") ? "num_experts" : "num_local_experts", 1 << 12);
  m.top_k = size("num_experts_per_tok", 1 << 12);
  m.ffn = size("moe_intermediate_size", 1 << 16);
  m.normalised = c.opt_b("norm_topk_prob", normalised);
  c.check("num_experts_per_tok", m.top_k <= m.experts, "must be at most the number of experts");
  return m;
}

constexpr int64_t kMaxPositions = 32768;

llm::ModelConfig load_thinker(const Config& c) {
  llm::ModelConfig t;
  t.lm = load_blocks(c);
  t.lm.moe = load_experts(c, true);
  t.vocab = c.i("vocab_size", 1, 1 << 24);
  t.max_positions = c.opt_i("max_position_embeddings", kMaxPositions, 64, 1 << 20);
  c.only("decoder_sparse_step", 1);
  c.check("mlp_only_layers", !c.has("mlp_only_layers") || c.ints("mlp_only_layers").empty(),
          "must be empty: every block has experts");
  return t;
}

qwen3_tts::PredictorConfig load_predictor(const Config& talker, int64_t wide) {
  const Config c = talker.sub("code_predictor_config");
  qwen3_tts::PredictorConfig p;
  p.decoder = load_blocks(c);
  p.decoder.ffn = c.i<int>("intermediate_size", 1, 1 << 18);
  p.wide = wide;
  p.codebooks = talker.i("num_code_groups", 2, 64);
  p.code_vocab = c.i("vocab_size", 1, 1 << 20);
  p.decoder.rope_positions = p.codebooks + 1;
  c.same("num_code_groups", p.codebooks, "that of the talker");
  c.check("hidden_size", p.decoder.hidden == wide, "must be the talker's " + std::to_string(wide));
  return p;
}

TalkerConfig load_talker(const Config& c, const llm::ModelConfig& thinker) {
  TalkerConfig t;
  const Config text = c.sub("text_config");
  t.decoder = load_blocks(text);
  t.decoder.moe = load_experts(text, false);
  t.decoder.moe.shared_ffn = text.i<int>("shared_expert_intermediate_size", 1, 1 << 16);
  t.inner = text.i("intermediate_size", 1, 1 << 18);
  t.max_positions = text.opt_i("max_position_embeddings", kMaxPositions, 64, 1 << 20);
  t.vocab = text.i("vocab_size", TalkerConfig::kOtherIds + 1, 1 << 24);
  t.thinker_hidden = c.i("thinker_hidden_size", 1, 1 << 16);
  t.accept_layer = c.i<int>("accept_hidden_layer", 0, thinker.lm.layers);
  t.predictor = load_predictor(c, t.decoder.hidden);
  c.check("thinker_hidden_size", t.thinker_hidden == thinker.lm.hidden,
          "must be the thinker's width, " + std::to_string(thinker.lm.hidden));
  // In the authors' code, rows after the last block exist only after the final norm.
  c.check("accept_hidden_layer", t.accept_layer != thinker.lm.layers,
          "must be the index of a block");
  const int64_t last = t.vocab - 1;
  const auto id = [&](const char* key) { return c.i<int32_t>(key, 0, last); };
  t.codec = {id("codec_pad_id"),     id("codec_bos_id"),       id("codec_eos_token_id"),
             id("codec_nothink_id"), id("codec_think_bos_id"), id("codec_think_eos_id")};
  c.check("codec_eos_token_id", t.codec.eos >= t.audio_codes(),
          "must not be among the audio codes");
  for (const auto& [name, speaker] : c.map_i("speaker_id", 0, last))
    t.speakers[lower_ascii(name)] = static_cast<int32_t>(speaker);
  return t;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "qwen3_omni_moe"; }

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  const Config thinker = root.sub("thinker_config");
  m.thinker = load_thinker(thinker.sub("text_config"));
  m.audio = Qwen3AudioConfig::load(thinker.sub("audio_config"));
  thinker.check("audio_config.output_dim", m.audio.out == m.thinker.lm.hidden,
                "must be the thinker's width, " + std::to_string(m.thinker.lm.hidden));
  thinker.only("tie_word_embeddings", false);
  const int64_t last = m.thinker.vocab - 1;
  const auto id = [&](const Config& c, const char* key) { return c.i<int32_t>(key, 0, last); };
  m.text.im_start = id(root, "im_start_token_id");
  m.text.im_end = id(root, "im_end_token_id");
  m.text.system = id(root, "system_token_id");
  m.text.user = id(root, "user_token_id");
  m.text.assistant = id(root, "assistant_token_id");
  m.text.audio = id(thinker, "audio_token_id");
  m.text.image = id(thinker, "image_token_id");
  m.text.video = id(thinker, "video_token_id");
  m.speaks = root.opt_b("enable_audio_output", true);
  if (!m.speaks) return m;
  m.text.tts_pad = id(root, "tts_pad_token_id");
  m.text.tts_bos = id(root, "tts_bos_token_id");
  m.text.tts_eos = id(root, "tts_eos_token_id");
  m.talker = load_talker(root.sub("talker_config"), m.thinker);
  const Config code2wav = root.sub("code2wav_config");
  m.codec = Qwen3CodecConfig::load_code2wav(code2wav);
  code2wav.check(
      "num_quantizers", m.codec.codebooks == m.talker.predictor.codebooks,
      "must be the talker's codes per frame, " + std::to_string(m.talker.predictor.codebooks));
  code2wav.check("codebook_size",
                 m.codec.codebook_size >= m.talker.predictor.code_vocab &&
                     m.codec.codebook_size >= m.talker.audio_codes(),
                 "is smaller than the talker's number of codes");
  return m;
}

}  // namespace syrinx::qwen3_omni
