#include "families/voxtral_tts/config.h"

#include <algorithm>

#include "families/loading/checkpoint.h"
#include "nn/mistral_config.h"

namespace syrinx::voxtral_tts {
namespace {

constexpr const char* kType = "voxtral_tts";
constexpr const char* kArchitecture = "VoxtralTTSForConditionalGeneration";

}  // namespace

bool claims(const Config& root) {
  if (model_type(root) == kType) return true;
  return root.has("architectures") &&
         std::ranges::count(root.strings("architectures"), kArchitecture) > 0;
}

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  m.lm = load_mistral_lm(root);
  if (m.lm.window > 0) root.fail("sliding_window", "is not supported");
  m.vocab = root.i("vocab_size", 8, 1 << 20);
  // The authors' server limits positions further than the file (deploy/voxtral_tts.yaml).
  m.max_positions = std::min(m.max_positions, root.opt_i("max_seq_len", 65536, 256, 1 << 24));
  m.lm.rope_positions = m.max_positions;
  const Config both = root.sub("multimodal"), audio = both.sub("audio_model_args");
  const Config flow = audio.sub("acoustic_transformer_args");
  const Config codec = both.sub("audio_tokenizer_args");
  m.codec = VoxtralCodecConfig::load(codec);
  m.flow = load_mistral_sizes(flow);
  m.flow.causal = false;
  m.steps = flow.opt_i<int>("n_decoding_steps", m.steps, 1, 128);
  for (const char* key : {"input_dim", "dim"})
    flow.same(key, m.lm.hidden, "dim of the language model");
  audio.same("semantic_codebook_size", m.codec.codebook_size, "that of audio_tokenizer_args");
  audio.same("acoustic_codebook_size", m.codec.levels, "that of audio_tokenizer_args");
  audio.same("n_acoustic_codebook", m.codec.acoustic(), "that of audio_tokenizer_args");
  audio.only("input_embedding_concat_type", "sum");
  return m;
}

}  // namespace syrinx::voxtral_tts
