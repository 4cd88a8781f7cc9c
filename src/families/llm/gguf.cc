#include "families/llm/gguf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/gguf_weights.h"
#include "kernels/rope.h"

namespace syrinx::llm {
namespace {

constexpr const char* kRopeFactors = "rope_freqs.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr const char* kLongFactors = "rope_factors_long.weight";

/// The name of a kind in a GGUF file, and the settings that are allowed for the kind.
struct GgufKind {
  const char* name;
  const char* type;     ///< model_type
  bool paired = false;  ///< rows of queries and keys are interleaved pairs in the file
  bool windows = false;
  const char* scaling = "none";  ///< allowed scaling of positions, besides "none"
};
constexpr GgufKind kKinds[] = {{"llama", "llama", true},
                               {"qwen2", "qwen2"},
                               {"qwen3", "qwen3"},
                               {"olmo2", "olmo2"},
                               {"smollm3", "smollm3", true},
                               {"gemma2", "gemma2", false, true},
                               {"gemma3", "gemma3_text", false, true, "linear"},
                               {"phi3", "phi3", false, true, "longrope"}};

/// Returns the file's kind. Throws LoadError if this program has no decoder for the kind.
const GgufKind& kind_of(const GgufFile& file) {
  const std::string name(file.text("general.architecture"));
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const GgufKind& each) { return name == each.name; });
  if (found == std::end(kKinds)) {
    std::string known;
    for (const GgufKind& each : kKinds)
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    file.fail("general.architecture", concat(shown(name), " is not supported; ", known, " are"));
  }
  if (file.integer(name + ".expert_count", 0) > 0) {
    file.fail(name + ".expert_count", "experts are not supported");
  }
  if (!found->windows && file.has(name + ".attention.sliding_window")) {
    file.fail(name + ".attention.sliding_window", "is not supported");
  }
  const std::string scaling(file.text(name + ".rope.scaling.type", "none"));
  if (scaling != "none" && scaling != found->scaling)
    file.fail(name + ".rope.scaling.type", shown(scaling) + " is unsupported");
  return *found;
}

/// Reads the `count` values of a tensor that belongs to no decoder block. Throws LoadError.
std::vector<float> factors_of(const GgufFile& file, const char* name, int64_t count) {
  const GgufTensor& tensor = file.need(name);
  if (tensor.sizes != std::vector<int64_t>{count} || tensor.type == nullptr) {
    file.fail(name, concat("expected f32 [", count, "], got ", tensor.str()));
  }
  std::vector<float> out(static_cast<size_t>(count));
  unpack_row(tensor, 0, out.data());
  return out;
}

/// Reads the scaling "llama3", stored as a factor for each pair's wavelength. The converter always
/// computes the factors with 8,192 original positions, whatever config.json states. Throws
/// LoadError for other factors.
RopeScaling scaling_of(const GgufFile& file, const RopeSpec& rope, int head_dim) {
  const std::vector<float> stored = factors_of(file, kRopeFactors, head_dim / 2);
  RopeSpec plain = rope, stretched = rope;
  plain.dim = stretched.dim = head_dim;
  RopeScaling& s = stretched.scaling;
  s.factor = *std::max_element(stored.begin(), stored.end());
  const RopeTable before(plain, 1), after(stretched, 1);
  bool same = s.factor >= 1;
  for (int i = 0; i < head_dim / 2; ++i) {
    const float made = before.inv_freq().f32()[i] / after.inv_freq().f32()[i];
    same = same && std::abs(made - stored[static_cast<size_t>(i)]) <= 1e-3f * made;
  }
  if (same) return s;
  file.fail(kRopeFactors, "expected the factors of llama3's scaling");
}

/// A tensor's name in transformers and in the file, and the heads whose rows the file interleaves.
struct GgufName {
  const char* ours;
  const char* theirs;
  enum Rows : uint8_t { kPlain, kQueries, kKeys } rows = kPlain;
};

std::vector<GgufName> block_names(const DecoderConfig& d) {
  const DecoderNames& ours = d.names;
  const bool after = d.norm_order == NormOrder::kAfter;
  std::vector<GgufName> out{{ours.attention_norm, after ? "post_attention_norm" : "attn_norm"},
                            {ours.mlp_norm, after ? "post_ffw_norm" : "ffn_norm"},
                            {ours.o, "attn_output"},
                            {ours.q_norm, "attn_q_norm"},
                            {ours.k_norm, "attn_k_norm"},
                            {ours.down, "ffn_down"}};
  if (d.norm_order == NormOrder::kBoth) {
    out.push_back({ours.attention_after, "post_attention_norm"});
    out.push_back({ours.mlp_after, "post_ffw_norm"});
  }
  if (ours.qkv) {
    out.push_back({ours.qkv, "attn_qkv"});
  } else {
    out.push_back({ours.q, "attn_q", GgufName::kQueries});
    out.push_back({ours.k, "attn_k", GgufName::kKeys});
    out.push_back({ours.v, "attn_v"});
  }
  if (!ours.gate_up) out.push_back({ours.gate, "ffn_gate"});
  out.push_back({ours.gate_up ? ours.gate_up : ours.up, "ffn_up"});
  return out;
}

/// Adds the entries of Gemma's config that are not sizes. The scale of queries depends on the
/// number of layers (llama.cpp:src/llama-model.cpp).
void add_gemma(const GgufFile& file, const std::string& name, nlohmann::json& sizes) {
  if (name != "gemma2" && name != "gemma3") return;
  const int64_t layers = sizes["num_hidden_layers"], heads = sizes["num_attention_heads"];
  const bool largest = layers == (name == "gemma2" ? 46 : 62);  // models with 27B parameters
  sizes["query_pre_attn_scalar"] = largest && heads > 0
                                       ? sizes["hidden_size"].get<int64_t>() / heads
                                       : sizes["head_dim"].get<int64_t>();
  sizes["sliding_window"] = file.integer(name + ".attention.sliding_window", 4096);
  if (name == "gemma2") {
    sizes["attn_logit_softcapping"] = file.number(name + ".attn_logit_softcapping", 50);
    sizes["final_logit_softcapping"] = file.number(name + ".final_logit_softcapping", 30);
    return;
  }
  sizes["rope_local_base_freq"] = file.number(name + ".rope.freq_base_swa", 10000);
  sizes["rope_theta"] = file.number(name + ".rope.freq_base", 1e6);
  if (file.text(name + ".rope.scaling.type", "none") == "linear") {
    sizes["rope_scaling"] = {{"rope_type", "linear"},
                             {"factor", file.number(name + ".rope.scaling.factor")}};
  }
}

/// Reads the number of columns that rope rotates, the window (0: no window) and position factors.
void add_phi3(const GgufFile& file, nlohmann::json& sizes) {
  const int64_t head_dim = sizes["head_dim"], positions = sizes["max_position_embeddings"];
  const int64_t turned = file.integer("phi3.rope.dimension_count", head_dim);
  sizes["partial_rotary_factor"] = static_cast<double>(turned) / static_cast<double>(head_dim);
  // Files from before August 2024 lack the window of models with 4,096 positions.
  const int64_t window =
      file.integer("phi3.attention.sliding_window", positions == 4096 ? 2047 : 0);
  if (window > 0) sizes["sliding_window"] = window;
  if (!file.find(kShortFactors)) return;
  sizes["rope_scaling"] = {{"type", "longrope"},
                           {"short_factor", factors_of(file, kShortFactors, turned / 2)},
                           {"attention_factor", file.number("phi3.rope.scaling.attn_factor", 1)},
                           {"original_max_position_embeddings",
                            file.integer("phi3.rope.scaling.original_context_length", positions)}};
}

}  // namespace

ModelConfig load_gguf_config(const GgufFile& file) {
  const GgufKind& kind = kind_of(file);
  const std::string type = kind.name;
  const auto size = [&](const char* key) { return file.integer(type + key); };
  const GgufTensor& table = file.need("token_embd.weight");
  if (table.sizes.size() != 2) {
    file.fail("tensor token_embd.weight", "expected a matrix, got " + table.str());
  }
  const int64_t heads = size(".attention.head_count"), width = size(".embedding_length");
  nlohmann::json sizes = {
      {"model_type", kind.type},
      {"hidden_size", width},
      {"intermediate_size", size(".feed_forward_length")},
      {"num_hidden_layers", size(".block_count")},
      {"num_attention_heads", heads},
      {"num_key_value_heads", file.integer(type + ".attention.head_count_kv", heads)},
      {"head_dim",
       file.integer(type + ".attention.key_length", width / std::max<int64_t>(heads, 1))},
      {"rms_norm_eps", file.number(type + ".attention.layer_norm_rms_epsilon")},
      {"rope_theta", file.number(type + ".rope.freq_base", 10000)},
      {"max_position_embeddings", size(".context_length")},
      {"vocab_size", table.sizes[0]},
      {"attention_bias", file.find("blk.0.attn_q.bias") != nullptr},
      {"tie_word_embeddings", file.find("output.weight") == nullptr}};
  add_gemma(file, type, sizes);
  if (type == "phi3") add_phi3(file, sizes);
  ModelConfig config = load_model_config(Config::parse(sizes.dump(), file.path()));
  config.lm.norm_offset = 0;  // the converter has already added it to the weights
  if (file.find(kRopeFactors))
    config.lm.rope.scaling = scaling_of(file, config.lm.rope, config.lm.head_dim);
  return config;
}

Generation load_gguf_generation(const GgufFile& file) {
  Generation out;
  for (const char* key : {"eos", "eot", "eom"}) {
    const int64_t id = file.integer(concat("tokenizer.ggml.", key, "_token_id"), -1);
    if (id >= 0 && id < 1 << 24) out.ends.push_back(static_cast<int32_t>(id));
  }
  std::sort(out.ends.begin(), out.ends.end());
  out.ends.erase(std::unique(out.ends.begin(), out.ends.end()), out.ends.end());
  return out;
}

std::optional<ChatTemplate> load_gguf_template(const GgufFile& file) {
  constexpr const char* kKey = "tokenizer.chat_template";
  if (!file.has(kKey)) return {};
  const GgufList& tokens = file.list("tokenizer.ggml.tokens");
  jinja::Template::Variables variables;
  for (const char* name : {"bos", "eos", "padding", "unknown"}) {
    const int64_t id = file.integer(concat("tokenizer.ggml.", name, "_token_id"), -1);
    if (id < 0 || id >= std::ssize(tokens.texts)) continue;
    const std::string ours = std::string_view(name) == "padding"   ? "pad_token"
                             : std::string_view(name) == "unknown" ? "unk_token"
                                                                   : concat(name, "_token");
    variables.emplace_back(ours, std::string(tokens.texts[static_cast<size_t>(id)]));
  }
  return ChatTemplate(std::string(file.text(kKey)), file.path() + ": " + kKey,
                      std::move(variables));
}

std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file,
                                           const ModelConfig& config) {
  GgufNames names{{config.names.table, "token_embd.weight"},
                  {"model.norm.weight", "output_norm.weight"}};
  if (file->find("output.weight")) names[config.names.head] = "output.weight";
  const bool in_pairs = kind_of(*file).paired;
  for (const GgufName& name : block_names(config.lm)) {
    const bool paired = in_pairs && name.rows != GgufName::kPlain;
    const int heads = name.rows == GgufName::kKeys ? config.lm.kv_heads : config.lm.heads;
    for (int i = 0; i < config.lm.layers; ++i)
      for (const char* kind : {".weight", ".bias"})
        names[concat("model.layers.", i, ".", name.ours, kind)] = {
            concat("blk.", i, ".", name.theirs, kind), paired ? heads : 0};
  }
  return syrinx::gguf_weights(std::move(file), std::move(names), {config.names.table},
                              {kRopeFactors, kShortFactors, kLongFactors});
}

}  // namespace syrinx::llm
