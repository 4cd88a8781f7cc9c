#include "families/qwen3_tts/config.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "families/loading/checkpoint.h"
#include "nn/llama_config.h"

namespace syrinx::qwen3_tts {
namespace {

DecoderConfig load_decoder(const Config& c) {
  DecoderConfig d = load_llama_config(c);
  // RoPE with sections for several axes equals plain RoPE here, because all axes have the same
  // position.
  load_rope_theta(c);
  c.check("attention_bias", !d.attention_bias, "is not supported");
  d.qk_norm = true;
  return d;
}

std::map<std::string, int64_t> lower_keys(const std::map<std::string, int64_t>& map) {
  std::map<std::string, int64_t> out;
  for (const auto& [name, id] : map) out[lower_ascii(name)] = id;
  return out;
}

/// Reads spk_is_dialect. A speaker's value is false or the name of a language.
std::map<std::string, std::string> load_dialects(const Config& talker) {
  std::map<std::string, std::string> out;
  const auto all = talker.opt_sub("spk_is_dialect");
  if (!all) return out;
  for (const std::string& speaker : all->keys()) {
    const nlohmann::json& value = all->raw()[speaker];
    if (value.is_boolean() && !value.get<bool>()) continue;
    if (!value.is_string()) all->fail(speaker, "expected false or the name of a language");
    out[lower_ascii(speaker)] = lower_ascii(value.get<std::string>());
  }
  return out;
}

void load_talker(const Config& c, ModelConfig& m) {
  m.talker = load_decoder(c);
  m.max_positions = c.opt_i("max_position_embeddings", m.max_positions, 64, 1 << 20);
  m.codebooks = c.i("num_code_groups", 2, 64);
  m.talker_vocab = c.i("vocab_size", ModelConfig::kOtherIds + 1, 1 << 24);
  m.text_vocab = c.i("text_vocab_size", 1, 1 << 24);
  m.text_hidden = c.i("text_hidden_size", 1, 1 << 16);
  const int64_t last = m.talker_vocab - 1;
  const auto id = [&](const char* key) { return c.i<int32_t>(key, 0, last); };
  m.codec = {id("codec_pad_id"),      id("codec_bos_id"),     id("codec_eos_token_id"),
             id("codec_think_id"),    id("codec_nothink_id"), id("codec_think_bos_id"),
             id("codec_think_eos_id")};
  if (c.has("spk_id")) m.speakers = lower_keys(c.map_i("spk_id", 0, last));
  m.languages = lower_keys(c.map_i("codec_language_id", 0, last));
  m.dialects = load_dialects(c);
  for (const auto& [speaker, language] : m.dialects) {
    c.check(
        "spk_is_dialect", m.languages.contains(language),
        "speaker " + speaker + " speaks " + language + ", which codec_language_id does not have");
  }
  const Config p = c.sub("code_predictor_config");
  m.predictor = load_decoder(p);
  m.predictor.rope_positions = m.codebooks + 1;
  m.code_vocab = p.i("vocab_size", 1, 1 << 20);
  p.same("num_code_groups", m.codebooks, "that of the talker");
  c.check("codec_eos_token_id", m.codec.eos >= m.audio_codes(),
          "must not be among the audio codes");
}

SpeakerConfig load_speaker(const Config& root, int64_t width) {
  SpeakerConfig s;
  s.width = width;
  const auto found = root.opt_sub("speaker_encoder_config");
  if (!found) return s;
  const Config& c = *found;
  s.mels = c.opt_i("mel_dim", s.mels, 1, 1024);
  s.width = c.opt_i("enc_dim", 1024, 1, 1 << 16);
  s.attention = c.opt_i("enc_attention_channels", s.attention, 1, 1 << 14);
  s.parts = c.opt_i("enc_res2net_scale", s.parts, 2, 64);
  s.squeezed = c.opt_i("enc_se_channels", s.squeezed, 1, 1 << 14);
  s.sample_rate = c.opt_i("sample_rate", s.sample_rate, 24000, 24000);
  const auto list = [&](const char* key, std::vector<int64_t>& values, int64_t most) {
    if (c.has(key)) values = c.ints(key, 1, most);
    c.check(key, values.size() >= 3 && values.size() <= 16 && values.size() == s.channels.size(),
            "must have 3 to 16 items, as many as enc_channels");
  };
  list("enc_channels", s.channels, 1 << 14);
  list("enc_kernel_sizes", s.taps, 63);
  list("enc_dilations", s.dilations, 16);
  c.check(
      "enc_dim", s.width == width,
      "must be the talker's width " + std::to_string(width) + ", got " + std::to_string(s.width));
  int64_t joined = 0;
  for (size_t i = 1; i + 1 < s.channels.size(); ++i) {
    c.check("enc_channels", s.channels[i] == s.channels[0] && s.channels[i] % s.parts == 0,
            "all but the last must be equal, and multiples of enc_res2net_scale");
    joined += s.channels[i];
  }
  c.check("enc_channels", s.channels.back() == joined,
          "the last must be the sum of all except the first and the last");
  return s;
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "qwen3_tts"; }

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  const std::string tokenizer = root.opt_s("tokenizer_type", "qwen3_tts_tokenizer_12hz");
  root.check("tokenizer_type", tokenizer == "qwen3_tts_tokenizer_12hz",
             "only qwen3_tts_tokenizer_12hz is supported, got " + tokenizer);
  const std::string kind = root.s("tts_model_type");
  if (kind == "custom_voice") {
    m.kind = Kind::kCustomVoice;
  } else if (kind == "voice_design") {
    m.kind = Kind::kVoiceDesign;
  } else if (kind == "base") {
    m.kind = Kind::kBase;
  } else {
    root.fail("tts_model_type", "expected custom_voice, voice_design or base, got " + kind);
  }
  m.size = root.opt_s("tts_model_size", "");
  load_talker(root.sub("talker_config"), m);
  const auto id = [&](const char* key) { return root.i<int32_t>(key, 0, m.text_vocab - 1); };
  m.text = {id("im_start_token_id"), id("im_end_token_id"), id("tts_pad_token_id"),
            id("tts_bos_token_id"), id("tts_eos_token_id")};
  if (m.kind == Kind::kBase) m.speaker = load_speaker(root, m.talker.hidden);
  return m;
}

Defaults load_defaults(const Config& c) {
  Defaults d;
  load_sampling(c, d.outer);
  load_sampling(c, d.inner, "subtalker_");
  if (!c.opt_b("subtalker_dosample", true)) d.inner.temperature = 0;  // the authors' spelling
  d.max_frames = c.opt_i("max_new_tokens", d.max_frames, 1, 1 << 20);
  return d;
}

}  // namespace syrinx::qwen3_tts
