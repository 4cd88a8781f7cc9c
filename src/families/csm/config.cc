#include "families/csm/config.h"

#include <nlohmann/json.hpp>

#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "nn/llama_config.h"

namespace syrinx::csm {
namespace {

/// A key in configs of the authors' first program and of its fine-tunes. Configs of transformers
/// may have it, too.
constexpr const char* kFirstFormat = "backbone_flavor";
bool of_first_program(const Config& root) {
  return model_type(root) != "csm" && root.raw().contains(kFirstFormat);
}

void load_depth(const Config& c, ModelConfig& m) {
  m.depth = load_llama_config(c);
  m.depth.rope_positions = m.codebooks;
  c.same("num_codebooks", m.codebooks, "that of the backbone");
  c.same("vocab_size", m.code_vocab, "that of the backbone");
  c.same("backbone_hidden_size", m.backbone.hidden, "hidden_size of the backbone");
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "csm" || of_first_program(root); }

ModelConfig load_model_config(const Config& root) {
  root.check(kFirstFormat, !of_first_program(root),
             "has the format of the authors' first program; use a checkpoint in the format of "
             "transformers (CsmForConditionalGeneration, e.g. sesame/csm-1b)");
  ModelConfig m;
  m.backbone = load_llama_config(root);
  m.max_positions = root.i("max_position_embeddings", 64, 1 << 20);
  m.backbone.rope_positions = m.max_positions;
  m.codebooks = root.i("num_codebooks", 2, 64);
  m.code_vocab = root.i("vocab_size", 2, 1 << 20);
  m.text_vocab = root.i("text_vocab_size", 1, 1 << 24);
  m.end_code = root.i<int32_t>("codebook_eos_token_id", 0, m.code_vocab - 1);
  const auto text = [&](const char* key) { return root.i<int32_t>(key, 0, m.text_vocab - 1); };
  m.audio_token = text("audio_token_id");
  m.audio_end_token = text("audio_eos_token_id");
  m.tied = root.opt_b("tie_codebooks_embeddings", true);
  m.weights_file = root.opt_s("transformers_weights", "");
  root.check("transformers_weights", m.weights_file.find('/') == std::string::npos,
             "must be a file of this directory");
  load_depth(root.sub("depth_decoder_config"), m);
  const Config codec = root.sub("codec_config");
  m.codec = MimiConfig::load(codec);
  codec.check("num_quantizers", m.codec.codebooks == m.codebooks,
              concat("expected num_codebooks, ", m.codebooks, ", got ", m.codec.codebooks));
  codec.check(
      "codebook_size", m.codec.codebook_size <= m.code_vocab,
      concat("expected at most vocab_size, ", m.code_vocab, ", got ", m.codec.codebook_size));
  root.check("codebook_eos_token_id", m.end_code < m.audio_codes(), "is not a codec code");
  return m;
}

Defaults load_defaults(const std::string& path) {
  Defaults d;
  if (!is_file(path)) return d;
  const Config c = Config::load(path);
  load_sampling(c, d.outer);
  load_sampling(c, d.inner, "depth_decoder_");
  return d;
}

}  // namespace syrinx::csm
