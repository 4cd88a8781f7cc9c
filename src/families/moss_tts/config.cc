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
  m.pad_code = static_cast<int32_t>(root.i("audio_pad_token", 2, 1 << 16));
  if (const int64_t got = root.i("audio_vocab_size", 1, 1 << 17); got != m.code_vocab()) {
    root.fail("audio_vocab_size",
              concat("is ", got, ": expected audio_pad_token + 3, ", m.code_vocab()));
  }
  const auto text = [&](const char* key) {
    return static_cast<int32_t>(root.i(key, 0, m.vocab - 1));
  };
  m.audio_pad = text("reference_audio_pad");
  m.text_pad = text("text_pad");
  m.depth = load_llama_config(local, kTheta);
  m.depth.qk_norm = true;
  m.depth.rope_positions = m.codebooks;
  if (m.depth.hidden != m.lm.hidden) {
    local.fail("hidden_size",
               concat("is ", m.depth.hidden, ": expected that of language_config, ", m.lm.hidden));
  }
  const auto same = [&](const char* key, int64_t want) {
    const int64_t got = local.opt_i(key, want);
    if (got != want) local.fail(key, concat("is ", got, ", but the model has ", want));
  };
  same("rvq", m.codebooks);
  same("audio_vocab_size", m.code_vocab());
  same("audio_pad_token", m.pad_code);
  return m;
}

}  // namespace syrinx::moss_tts
