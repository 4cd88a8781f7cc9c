#include "families/whisper/config.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "families/loading/checkpoint.h"
#include "families/whisper/ctranslate2.h"
#include "nn/llama_config.h"

namespace syrinx::whisper {
namespace {

constexpr int kTimestamps = 1501;  // times from 0.00 to 30.00 s

// Size of the first published multilingual vocabulary. Later vocabularies are larger.
constexpr int64_t kMultilingualVocab = kEnglishVocab + 1;

/// Reads the languages, which are written "<|en|>" for "en". Each must have its own id, from
/// `first` to `last`.
std::map<std::string, int32_t> load_languages(const Config& config, int32_t first, int32_t last) {
  std::map<std::string, int32_t> out;
  std::set<int64_t> seen;
  for (const auto& [token, id] : config.map_i("lang_to_id", first, last)) {
    if (!seen.insert(id).second) config.fail("lang_to_id", concat("names the id ", id, " twice"));
    if (token.size() < 6 || !token.starts_with("<|") || !token.ends_with("|>")) {
      config.fail("lang_to_id", "a language is written like <|en|>, not " + token);
    }
    out[token.substr(2, token.size() - 4)] = static_cast<int32_t>(id);
  }
  if (out.empty()) config.fail("lang_to_id", "names no language");
  return out;
}

/// Returns whether the model is multilingual: by is_multilingual, or else by lang_to_id. Throws
/// LoadError if these differ, or if they contradict a vocabulary of a published size.
bool multilingual(const Config& config, int64_t vocab) {
  constexpr const char* kKey = "is_multilingual";
  const bool named = config.has("lang_to_id") && !config.raw()["lang_to_id"].empty();
  const bool several = config.opt_b(kKey, named);
  if (named && !several) config.fail(kKey, "is false, but lang_to_id names languages");
  if (several && vocab == kEnglishVocab) {
    config.fail(kKey, concat("is true, but a vocabulary of ", vocab, " ids is English only"));
  }
  if (!several && vocab >= kMultilingualVocab) {
    config.fail(kKey, concat("is false, but a vocabulary of ", vocab, " ids is multilingual"));
  }
  return several;
}

std::vector<int32_t> load_ids(const Config& config, const char* key, int64_t vocab) {
  std::vector<int32_t> out;
  if (!config.has(key)) return out;
  for (const int64_t id : config.ints(key, -1, vocab - 1)) {
    if (id >= 0) out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

std::vector<AlignmentHead> load_heads(const Config& config, const ModelConfig& model) {
  constexpr const char* kKey = "alignment_heads";
  std::set<AlignmentHead> out;
  if (config.has(kKey)) {
    const nlohmann::json& list = config.raw()[kKey];
    const auto below = [](const nlohmann::json& number, int64_t end) {
      return number.is_number_integer() && number >= 0 && number < end;
    };
    if (!list.is_array()) config.fail(kKey, "must be a list of pairs [layer, head]");
    for (const nlohmann::json& pair : list) {
      if (!pair.is_array() || pair.size() != 2 || !below(pair[0], model.layers) ||
          !below(pair[1], model.heads)) {
        config.fail(kKey, concat("expected pairs [layer, head] of ", model.layers, " layers and ",
                                 model.heads, " heads, not ", pair.dump().substr(0, 60)));
      }
      out.insert({pair[0].get<int>(), pair[1].get<int>()});
    }
  }
  if (out.empty()) {
    for (int layer = static_cast<int>(model.layers / 2); layer < model.layers; ++layer)
      for (int head = 0; head < model.heads; ++head) out.insert({layer, head});
  }
  return {out.begin(), out.end()};
}

}  // namespace

bool claims(const Config& root) { return claims_ct2(root) || model_type(root) == "whisper"; }

ModelConfig load_model_config(const Config& root) {
  root.check("quantization_config", !root.has("quantization_config"),
             "quantized checkpoints are not supported");
  ModelConfig m;
  m.encoder = WhisperEncoderConfig::load(root);
  m.layers = root.i("decoder_layers", 1, 256);
  m.heads = root.i("decoder_attention_heads", 1, 512);
  m.ffn = root.i("decoder_ffn_dim", 1, 1 << 15);
  m.vocab = root.i("vocab_size", kTimestamps + 8, 1 << 20);
  m.max_ids = root.i("max_target_positions", 16, 1 << 14);
  const int64_t width = m.encoder.width;
  head_size(root, "decoder_attention_heads", width, m.heads);
  root.only("tie_word_embeddings", true);
  return m;
}

Generation load_generation(const Config& config, const ModelConfig& model) {
  const int64_t last = model.vocab - 1;
  const auto id = [&](const char* key) { return static_cast<int32_t>(config.i(key, 0, last)); };
  Generation g;
  g.start = id("decoder_start_token_id");
  g.end = id("eos_token_id");
  g.no_timestamps = id("no_timestamps_token_id");
  if (g.no_timestamps < 2 || g.timestamps() + kTimestamps > model.vocab) {
    config.fail("no_timestamps_token_id", "must come before 1501 ids of timestamps");
  }
  if (g.end >= g.timestamps()) config.fail("eos_token_id", "must not be among the timestamps");
  g.previous =
      static_cast<int32_t>(config.opt_i("prev_sot_token_id", g.no_timestamps - 2, 0, last));
  if (multilingual(config, model.vocab)) {
    g.languages = load_languages(config, g.start + 1, g.no_timestamps - 1);
    const auto tasks = config.map_i("task_to_id", g.start + 1, g.no_timestamps - 1);
    for (const char* task : {"transcribe", "translate"}) {
      if (!tasks.contains(task)) config.fail("task_to_id", std::string("lacks ") + task);
    }
    g.transcribe = static_cast<int32_t>(tasks.at("transcribe"));
    g.translate = static_cast<int32_t>(tasks.at("translate"));
  }
  g.suppressed = load_ids(config, "suppress_tokens", model.vocab);
  g.suppressed_first = load_ids(config, "begin_suppress_tokens", model.vocab);
  g.max_first_timestamp =
      static_cast<int>(config.opt_i("max_initial_timestamp_index", 50, 0, kTimestamps));
  g.alignment_heads = load_heads(config, model);
  return g;
}

}  // namespace syrinx::whisper
