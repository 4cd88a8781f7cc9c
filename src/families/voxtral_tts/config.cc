#include "families/voxtral_tts/config.h"

#include <algorithm>

#include "families/loading/checkpoint.h"
#include "nn/mistral_config.h"

namespace syrinx::voxtral_tts {
namespace {

constexpr const char* kType = "voxtral_tts";
constexpr const char* kArchitecture = "VoxtralTTSForConditionalGeneration";

/// Expects the number of a key of `c` to be `want`, which another part of the model has.
void expect_same(const Config& c, const char* key, int64_t got, int64_t want, const char* whose) {
  if (got != want) c.fail(key, concat("expected ", whose, ", ", want, ", got ", got));
}

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
  m.steps = static_cast<int>(flow.opt_i("n_decoding_steps", m.steps, 1, 128));
  const char* theirs = "dim of the language model";
  expect_same(flow, "input_dim", flow.opt_i("input_dim", m.lm.hidden), m.lm.hidden, theirs);
  expect_same(flow, "dim", m.flow.hidden, m.lm.hidden, theirs);
  const auto same_codes = [&](const char* key, int64_t want) {
    expect_same(audio, key, audio.i(key), want, "that of audio_tokenizer_args");
  };
  same_codes("semantic_codebook_size", m.codec.codebook_size);
  same_codes("acoustic_codebook_size", m.codec.levels);
  same_codes("n_acoustic_codebook", m.codec.acoustic());
  if (audio.opt_s("input_embedding_concat_type", "sum") != "sum") {
    audio.fail("input_embedding_concat_type", "expected sum");
  }
  return m;
}

}  // namespace syrinx::voxtral_tts
