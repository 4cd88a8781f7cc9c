#include "families/moss_tts/config.h"

#include "families/loading/checkpoint.h"
#include "nn/llama_config.h"

namespace syrinx::moss_tts {

bool claims(const Config& root) { return model_type(root) == "moss_tts_realtime"; }

ModelConfig load_model_config(const Config& root) {
  constexpr double kTheta = 1e6;  // default of Qwen3 in this model, and of the local transformer
  const Config language = root.sub("language_config"), local = root.sub("local_config");
  ModelConfig m;
  m.lm = load_llama_config(language, kTheta);
  m.lm.qk_norm = true;
  m.vocab = language.i("vocab_size", 1, 1 << 24);
  m.max_positions = language.i("max_position_embeddings", 64, 1 << 20);
  m.lm.rope_positions = m.max_positions;
  m.codebooks = root.i("rvq", 2, 64);
  m.pad_code = root.i<int32_t>("audio_pad_token", 2, 1 << 16);
  root.same("audio_vocab_size", m.code_vocab(), "audio_pad_token + 3");
  const auto text = [&](const char* key) { return root.i<int32_t>(key, 0, m.vocab - 1); };
  m.audio_pad = text("reference_audio_pad");
  m.text_pad = text("text_pad");
  m.depth = load_llama_config(local, kTheta);
  m.depth.qk_norm = true;
  m.depth.rope_positions = m.codebooks;
  local.check("hidden_size", m.depth.hidden == m.lm.hidden,
              concat("is ", m.depth.hidden, ": expected that of language_config, ", m.lm.hidden));
  local.same("rvq", m.codebooks, "that of the model");
  local.same("audio_vocab_size", m.code_vocab(), "that of the model");
  local.same("audio_pad_token", m.pad_code, "that of the model");
  return m;
}

}  // namespace syrinx::moss_tts
