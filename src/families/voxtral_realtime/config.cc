#include "families/voxtral_realtime/config.h"

#include <cmath>

#include "families/loading/checkpoint.h"
#include "nn/llama_config.h"

namespace syrinx::voxtral_realtime {
namespace {

constexpr double kTheta = 1e6;  // base of rotary positions in files that lack it
constexpr int64_t kMostWindow = 1 << 14;
constexpr int kWindow = 400, kHop = 160;  // samples of a mel frame

void only(const Config& c, const char* key, bool fine, const std::string& what) {
  if (!fine) c.fail(key, "only " + what + " is supported");
}

DecoderConfig load_encoder(const Config& c) {
  only(c, "model_type",
       c.opt_s("model_type", "voxtral_realtime_encoder") == "voxtral_realtime_encoder",
       "voxtral_realtime_encoder");
  DecoderConfig d = load_llama_config(c, kTheta);
  only(c, "num_key_value_heads", d.kv_heads == d.heads, "the number of heads");
  d.window = static_cast<int>(c.opt_i("sliding_window", 750, 1, kMostWindow));
  d.attention_bias = d.output_bias = d.down_bias = true;
  d.key_bias = false;
  d.names.attention_norm = "self_attn_layer_norm";
  d.names.mlp_norm = "final_layer_norm";
  return d;
}

DecoderConfig load_lm(const Config& c) {
  only(c, "model_type", c.opt_s("model_type", "voxtral_realtime_text") == "voxtral_realtime_text",
       "voxtral_realtime_text");
  DecoderConfig d = load_llama_config(c, kTheta);
  d.window = static_cast<int>(c.opt_i("sliding_window", 8192, 1, kMostWindow));
  return d;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "voxtral_realtime"; }

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  const Config audio = root.sub("audio_config"), text = root.sub("text_config");
  m.encoder = load_encoder(audio);
  m.lm = load_lm(text);
  m.vocab = text.i("vocab_size", 8, 1 << 20);
  only(root, "tie_word_embeddings", root.opt_b("tie_word_embeddings", true), "true");
  only(root, "projector_hidden_act", root.opt_s("projector_hidden_act", "gelu") == "gelu", "gelu");
  m.join = root.opt_i("downsample_factor", 4, 1, 16);
  only(root, "audio_length_per_tok", root.opt_i("audio_length_per_tok", 8, 1, 32) == m.mels(),
       "twice the downsample_factor");
  m.delay = static_cast<int>(root.opt_i("default_num_delay_tokens", 6, 1, ModelConfig::kMostDelay));
  m.mel = whisper_mel(static_cast<int>(audio.opt_i("num_mel_bins", 128, 8, 512)));
  m.mel.high_hz = 8000;
  m.mel.framing = MelFraming::kZero;  // as reflecting: silence is at both ends of a recording
  return m;
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
