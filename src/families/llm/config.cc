#include "families/llm/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "families/llm/architectures.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"

namespace syrinx::llm {
namespace {

constexpr int64_t kCachedAngles = 8192;

/// A setting of transformers that Syrinx does not support, with the value that turns it off.
struct Unsupported {
  const char* key;
  double neutral;
};
constexpr Unsupported kUnsupported[] = {{"num_beams", 1},
                                        {"num_beam_groups", 1},
                                        {"diversity_penalty", 0},
                                        {"typical_p", 1},
                                        {"epsilon_cutoff", 0},
                                        {"eta_cutoff", 0},
                                        {"top_h", 1},
                                        {"penalty_alpha", 0},
                                        {"guidance_scale", 1},
                                        {"no_repeat_ngram_size", 0},
                                        {"encoder_no_repeat_ngram_size", 0},
                                        {"encoder_repetition_penalty", 1},
                                        {"min_length", 0},
                                        {"min_new_tokens", 0}};
constexpr const char* kUnsupportedLists[] = {
    "bad_words_ids",       "force_words_ids",
    "sequence_bias",       "suppress_tokens",
    "stop_strings",        "begin_suppress_tokens",
    "forced_bos_token_id", "forced_eos_token_id",
    "constraints",         "exponential_decay_length_penalty",
    "dola_layers",         "watermarking_config"};

/// Refuses a checkpoint whose answers would differ from those of the authors' code.
void refuse_unsupported(const Config& config) {
  for (const Unsupported& each : kUnsupported) {
    config.check(each.key, config.opt_f(each.key, each.neutral, -1e9, 1e9) == each.neutral,
                 "is not supported; remove it, or set it to " +
                     std::to_string(static_cast<int>(each.neutral)));
  }
  for (const char* key : kUnsupportedLists) {
    config.check(key, !config.has(key) || config.raw()[key].empty(), "is not supported; remove it");
  }
}

/// Adds an id or a list of ids. Null and -1 add no id.
void add_ids(const Config& config, const char* key, std::vector<int32_t>& ids) {
  if (!config.has(key)) return;
  constexpr int64_t kMost = 1 << 24;
  if (!config.raw()[key].is_array()) {
    const int64_t id = config.i(key, -1, kMost);
    if (id >= 0) ids.push_back(static_cast<int32_t>(id));
    return;
  }
  for (const int64_t id : config.ints(key, 0, kMost)) ids.push_back(static_cast<int32_t>(id));
}

/// Adds the end token that tokenizer_config.json names.
void add_tokenizer_end(const std::string& dir, const Tokenizer& tokenizer,
                       std::vector<int32_t>& ids) {
  const std::string path = join_path(dir, "tokenizer_config.json");
  if (!is_file(path)) return;
  const Config config = Config::load(path);
  if (!config.has("eos_token")) return;
  const std::string text = config.raw()["eos_token"].is_object()
                               ? config.sub("eos_token").s("content")
                               : config.s("eos_token");
  if (const auto id = tokenizer.id(text)) ids.push_back(*id);
}

}  // namespace

bool claims(const Config& root) { return architecture_of(root) != nullptr; }

ModelConfig load_model_config(const Config& root) {
  return load_model_config_as(root.s("model_type"), root);
}

ModelConfig load_model_config_as(const std::string& type, const Config& root) {
  ModelConfig m;
  if (const auto quantized = root.opt_sub("quantization_config")) {
    m.quantized = load_quantized_layout(*quantized);
  }
  m.type = type;
  m.vocab = root.i("vocab_size", 1, 1 << 24);
  m.max_positions = root.i("max_position_embeddings", 2, 1 << 24);
  const Architecture* architecture = architecture_of_type(m.type);
  root.check("model_type", architecture != nullptr, shown(m.type) + " is not supported");
  m.tied = root.opt_b("tie_word_embeddings", architecture->tied);
  architecture->describe(root, m);
  m.lm.rope_positions = std::min(m.max_positions, kCachedAngles);
  return m;
}

Generation load_generation(const std::string& dir, const Config& root, const Tokenizer& tokenizer) {
  Generation out;
  add_ids(root, "eos_token_id", out.ends);
  const std::string path = join_path(dir, "generation_config.json");
  if (is_file(path)) {
    const Config config = Config::load(path);
    refuse_unsupported(config);
    load_sampling(config, out.sampling);
    add_ids(config, "eos_token_id", out.ends);
  }
  add_tokenizer_end(dir, tokenizer, out.ends);
  std::sort(out.ends.begin(), out.ends.end());
  out.ends.erase(std::unique(out.ends.begin(), out.ends.end()), out.ends.end());
  return out;
}

}  // namespace syrinx::llm
