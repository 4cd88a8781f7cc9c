#include "families/voxtral_realtime/config.h"

#include <cmath>
#include <utility>

#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "io/renamed_weights.h"
#include "nn/llama_config.h"
#include "nn/mistral_config.h"

namespace syrinx::voxtral_realtime {
namespace {

constexpr double kTheta = 1e6;  // base of rotary positions in files that lack it
constexpr int64_t kMostWindow = 1 << 14;
constexpr int kWindow = 400, kHop = 160;  // samples of a mel frame

/// Completes the sizes of an encoder: where it has biases, and names.
void finish_encoder(const Config& c, const char* kv_heads, DecoderConfig& d) {
  c.only(kv_heads, d.kv_heads == d.heads, "the number of heads");
  d.attention_bias = d.output_bias = d.down_bias = true;
  d.key_bias = false;
  d.names = {.attention_norm = "self_attn_layer_norm", .mlp_norm = "final_layer_norm"};
}

void set_mel(const Config& c, ModelConfig& m) {
  m.mel = whisper_mel(c.opt_i<int>("num_mel_bins", 128, 8, 512));
  m.mel.high_hz = 8000;
  m.mel.framing = MelFraming::kZero;  // as reflecting: silence is at both ends of a recording
}

DecoderConfig load_encoder(const Config& c) {
  c.only("model_type", "voxtral_realtime_encoder");
  DecoderConfig d = load_llama_config(c, kTheta);
  d.window = c.opt_i<int>("sliding_window", 750, 1, kMostWindow);
  finish_encoder(c, "num_key_value_heads", d);
  return d;
}

DecoderConfig load_lm(const Config& c) {
  c.only("model_type", "voxtral_realtime_text");
  DecoderConfig d = load_llama_config(c, kTheta);
  d.window = c.opt_i<int>("sliding_window", 8192, 1, kMostWindow);
  return d;
}

/// Reads config.json.
ModelConfig load_converted(const Config& root) {
  ModelConfig m;
  const Config audio = root.sub("audio_config"), text = root.sub("text_config");
  m.encoder = load_encoder(audio);
  m.lm = load_lm(text);
  m.vocab = text.i("vocab_size", 8, 1 << 20);
  root.only("tie_word_embeddings", true);
  root.only("projector_hidden_act", "gelu");
  m.join = root.opt_i("downsample_factor", 4, 1, 16);
  root.only("audio_length_per_tok", root.opt_i("audio_length_per_tok", 8, 1, 32) == m.mels(),
            "twice the downsample_factor");
  m.delay = root.opt_i<int>("default_num_delay_tokens", 6, 1, ModelConfig::kMostDelay);
  set_mel(audio, m);
  return m;
}

/// Reads the sizes of one transformer in params.json.
DecoderConfig load_original_part(const Config& c, bool biases) {
  DecoderConfig d = load_mistral_lm(c, biases);
  c.only("sliding_window", d.window >= 1 && d.window <= kMostWindow,
         concat("a number from 1 to ", kMostWindow));
  d.names = {};  // those that open_original() gives
  return d;
}

/// A stack of blocks: the beginnings of its names, here and in Mistral's layout.
struct Stack {
  std::string ours, theirs;
  int layers;
};

void add_blocks(StoredNames& names, const Stack& stack,
                std::initializer_list<std::pair<const char*, const char*>> parts) {
  for (int i = 0; i < stack.layers; ++i)
    for (const auto& [ours, theirs] : parts)
      names[concat(stack.ours, "layers.", i, ".", ours)] =
          concat(stack.theirs, "layers.", i, ".", theirs);
}

/// Reads params.json.
ModelConfig load_original(const Config& root) {
  ModelConfig m;
  m.original = true;
  const Config both = root.sub("multimodal").sub("whisper_model_args");
  const Config audio = both.sub("encoder_args"), sound = audio.sub("audio_encoding_args");
  m.encoder = load_original_part(audio, true);
  finish_encoder(audio, "n_kv_heads", m.encoder);
  const std::pair<const char*, const char*> kinds[] = {
      {"pos_embed", "rope"}, {"ffn_type", "swiglu"}, {"norm_type", "rms_norm"}};
  for (const auto& [key, kind] : kinds) audio.only(key, kind);
  m.lm = load_original_part(root, false);
  m.vocab = root.i("vocab_size", 8, 1 << 20);
  for (const char* key : {"tied_embeddings", "ada_rms_norm_t_cond"}) root.only(key, true);
  m.join = both.sub("downsample_args").i("downsample_factor", 1, 16);
  sound.only("global_log_mel_max", sound.opt_f("global_log_mel_max", kLoudest) == kLoudest,
             concat(kLoudest));
  set_mel(sound, m);
  return m;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "voxtral_realtime"; }

bool claims_original(const Config& root) {
  const auto both = root.opt_sub("multimodal");
  const auto whisper = both ? both->opt_sub("whisper_model_args") : both;
  const auto audio = whisper ? whisper->opt_sub("encoder_args") : whisper;
  return audio && audio->opt_b("causal", false);
}

ModelConfig load_model_config(const std::string& dir) {
  const std::string converted = join_path(dir, "config.json"), own = join_path(dir, kOriginal);
  const bool is_own = is_file(join_path(dir, kOriginalWeights)) || !is_file(converted);
  return is_file(own) && is_own ? load_original(Config::load(own))
                                : load_converted(Config::load(converted));
}

std::unique_ptr<WeightSource> open_original(const ModelConfig& config, const std::string& path) {
  const std::string sound = "mm_streams_embeddings.embedding_module.";
  const std::string tower = sound + "whisper_encoder.", lm = "language_model.model.";
  StoredNames names{{lm + "embed_tokens.weight", sound + "tok_embeddings.weight"},
                    {"language_model.lm_head.weight", "output.weight"}};
  for (const int n : {1, 2}) {
    for (const char* kind : {"weight", "bias"})
      names[concat("audio_tower.embedder.conv", n, ".", kind)] =
          concat(tower, "conv_layers.", n - 1, ".conv.", kind);
    names[concat("multi_modal_projector.linear_", n, ".weight")] =
        concat(sound, "audio_language_projection.", 2 * (n - 1), ".weight");
  }
  const Stack audio{"audio_tower.", tower + "transformer.", config.encoder.layers};
  const Stack text{lm, "", config.lm.layers};
  for (const Stack& stack : {audio, text}) {
    names[stack.ours + "norm.weight"] = stack.theirs + "norm.weight";
    add_blocks(names, stack,
               {{"self_attn.q_proj.weight", "attention.wq.weight"},
                {"self_attn.q_proj.bias", "attention.wq.bias"},
                {"self_attn.k_proj.weight", "attention.wk.weight"},
                {"self_attn.v_proj.weight", "attention.wv.weight"},
                {"self_attn.v_proj.bias", "attention.wv.bias"},
                {"self_attn.o_proj.weight", "attention.wo.weight"},
                {"self_attn.o_proj.bias", "attention.wo.bias"},
                {"mlp.gate_proj.weight", "feed_forward.w1.weight"},
                {"mlp.up_proj.weight", "feed_forward.w3.weight"},
                {"mlp.down_proj.weight", "feed_forward.w2.weight"},
                {"mlp.down_proj.bias", "feed_forward.w2.bias"}});
  }
  add_blocks(names, audio,
             {{"self_attn_layer_norm.weight", "attention_norm.weight"},
              {"final_layer_norm.weight", "ffn_norm.weight"}});
  add_blocks(names, text,
             {{"input_layernorm.weight", "attention_norm.weight"},
              {"post_attention_layernorm.weight", "ffn_norm.weight"},
              {"ada_rms_norm.linear1.weight", "ada_rms_norm_t_cond.0.weight"},
              {"ada_rms_norm.linear2.weight", "ada_rms_norm_t_cond.2.weight"}});
  return renamed(open_weights(path), std::move(names));
}

void read_sound(const Tekken& tekken, const std::string& path, ModelConfig& config) {
  const auto fail = [&](const std::string& entry, const std::string& what) {
    throw LoadError(concat(path, ": ", entry, ": ", what));
  };
  if (!tekken.audio) fail("audio", "expected a section with transcription_format streaming");
  const TekkenAudio& a = *tekken.audio;
  const auto need = [&](const char* entry, double got, double want) {
    if (got != want)
      fail(concat("audio.", entry), concat("only ", want, " is supported, not ", got));
  };
  need("sampling_rate", a.sample_rate, config.mel.sample_rate);
  need("audio_encoding_config.num_mel_bins", a.mels, config.mel.mels);
  need("audio_encoding_config.hop_length", a.hop, kHop);
  need("audio_encoding_config.window_size", a.fft, kWindow);
  need("frame_rate", a.frame_rate, 1 / config.token_s());
  const double delay = a.delay_ms / 1000 / config.token_s();
  config.delay = static_cast<int>(std::lround(delay));
  if (std::abs(delay - config.delay) > 1e-6 || config.delay < 1 ||
      config.delay > ModelConfig::kMostDelay) {
    fail("audio.transcription_delay_ms",
         concat("expected a multiple of ", 1000 * config.token_s(), " up to ",
                1000 * config.token_s() * ModelConfig::kMostDelay, ", got ", a.delay_ms));
  }
  config.left_pad = a.left_pad;
}

}  // namespace syrinx::voxtral_realtime
