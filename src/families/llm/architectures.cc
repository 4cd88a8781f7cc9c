#include "families/llm/architectures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/file.h"
#include "nn/llama_config.h"

namespace syrinx::llm {
namespace {

constexpr double kTheta = 1e4;
constexpr double kSmolLm3Theta = 2e6;
constexpr double kGemma3Theta = 1e6;
constexpr int kQwen3HeadDim = 128;
constexpr int kGemmaHeadDim = 256;
constexpr int64_t kMostPositions = 1 << 24;

using Rope = LayerKind::Rope;

/// Returns sliding_window in positions; 0 if it is null or absent.
int window_of(const Config& root) {
  return root.opt_i<int>("sliding_window", 0, 1, kMostPositions);
}

/// Returns which layers have a window: from layer_types, or else from by_default(layer).
std::vector<bool> sliding_layers(const Config& root, int layers, auto by_default) {
  std::vector<bool> out;
  if (!root.has("layer_types")) {
    for (int i = 0; i < layers; ++i) out.push_back(by_default(i));
    return out;
  }
  for (const std::string& type : root.strings("layer_types")) {
    root.check("layer_types", type == "full_attention" || type == "sliding_attention",
               shown(type) + " is not supported");
    out.push_back(type == "sliding_attention");
  }
  root.check("layer_types", std::ssize(out) == layers,
             concat("has ", out.size(), " items for ", layers, " layers"));
  return out;
}

/// Sets the window of the layers in `sliding`. Does nothing if no layer is in it.
void set_windows(const std::vector<bool>& sliding, int window, DecoderConfig& d) {
  if (window == 0 || std::count(sliding.begin(), sliding.end(), true) == 0) return;
  if (d.layer_kinds.empty()) d.layer_kinds.resize(sliding.size());
  for (size_t i = 0; i < sliding.size(); ++i)
    if (sliding[i]) d.layer_kinds[i].window = window;
}

/// Reads sizes, positions and activation. All kinds except Gemma use it.
DecoderConfig llama_like(const Config& root, double theta, int absent_head_dim = 0) {
  DecoderConfig d = load_llama_sizes(root, absent_head_dim);
  d.rope = load_rope(root, theta);
  root.only("hidden_act", "silu");
  return d;
}

void describe_llama(const Config& root, ModelConfig& m) {
  m.lm = load_llama_config(root, kTheta);
  const std::vector<bool> sliding = sliding_layers(root, m.lm.layers, [](int) { return false; });
  root.check("layer_types", std::count(sliding.begin(), sliding.end(), true) == 0,
             "layers with a sliding window are not supported");
}

/// All layers have the same window, if the config has one.
void describe_mistral(const Config& root, ModelConfig& m) {
  m.lm = llama_like(root, kTheta);
  m.lm.window = window_of(root);
}

/// Layers from max_window_layers on have a window, if use_sliding_window is set.
void read_qwen_windows(const Config& root, DecoderConfig& d) {
  const int window = root.opt_b("use_sliding_window", false) ? window_of(root) : 0;
  const int64_t first = root.opt_i("max_window_layers", 28, 0, 512);
  set_windows(sliding_layers(root, d.layers, [&](int i) { return i >= first; }), window, d);
}

void describe_qwen2(const Config& root, ModelConfig& m) {
  m.lm = llama_like(root, kTheta);
  m.lm.attention_bias = true;
  m.lm.output_bias = false;
  read_qwen_windows(root, m.lm);
}

void describe_qwen3(const Config& root, ModelConfig& m) {
  m.lm = llama_like(root, kTheta, kQwen3HeadDim);
  m.lm.qk_norm = true;
  read_qwen_windows(root, m.lm);
}

/// Norms come after attention and MLP. Queries and keys are normalised over all heads together.
void describe_olmo2(const Config& root, ModelConfig& m) {
  m.lm = llama_like(root, kTheta);
  m.lm.norm_order = NormOrder::kAfter;
  m.lm.qk_norm = m.lm.qk_norm_wide = true;
  m.lm.names.attention_norm = "post_attention_layernorm";
  m.lm.names.mlp_norm = "post_feedforward_layernorm";
}

/// Layers whose entry in no_rope_layers is 0 have no rope. These layers may have a window.
void describe_smollm3(const Config& root, ModelConfig& m) {
  DecoderConfig& d = m.lm;
  d = llama_like(root, kSmolLm3Theta);
  d.layer_kinds.resize(static_cast<size_t>(d.layers));
  const int64_t interval = root.opt_i("no_rope_layer_interval", 4, 1, 512);
  std::vector<int64_t> turned;
  if (root.has("no_rope_layers")) turned = root.ints("no_rope_layers", 0, 1);
  root.check("no_rope_layers", turned.empty() || std::ssize(turned) >= d.layers,
             concat("has ", turned.size(), " items for ", d.layers, " layers"));
  const auto turns = [&](int i) {
    return turned.empty() ? (i + 1) % interval != 0 : turned[static_cast<size_t>(i)] != 0;
  };
  for (int i = 0; i < d.layers; ++i)
    if (!turns(i)) d.layer_kinds[static_cast<size_t>(i)].rope = Rope::kNone;
  const bool windows = root.opt_b("use_sliding_window", false);
  const auto sliding = [&](int i) { return windows && !turns(i); };
  set_windows(sliding_layers(root, d.layers, sliding), window_of(root), d);
}

/// "longrope" divides frequencies by given factors. short_factor applies up to the length of the
/// first training, to which sequences are limited here.
void read_longrope(const Config& root, const Config& rope, ModelConfig& m) {
  DecoderConfig& d = m.lm;
  const int64_t first = rope.has("original_max_position_embeddings")
                            ? rope.i("original_max_position_embeddings", 2, kMostPositions)
                            : root.i("original_max_position_embeddings", 2, kMostPositions);
  for (const double factor : rope.floats("short_factor")) {
    rope.check("short_factor", factor > 0, concat(factor, " is not above 0"));
    d.rope.factors.push_back(static_cast<float>(factor));
  }
  rope.check("short_factor", std::ssize(d.rope.factors) == d.rope.dim / 2,
             concat("has ", d.rope.factors.size(), " numbers, expected ", d.rope.dim / 2));
  const double stretched = rope.opt_f(
      "factor", static_cast<double>(m.max_positions) / static_cast<double>(first), 0, 1e6);
  const double gain =
      stretched > 1 ? std::sqrt(1 + std::log(stretched) / std::log(static_cast<double>(first))) : 1;
  d.rope.gain = rope.opt_f<float>("attention_factor", gain, 1e-3, 1e3);
  m.max_positions = std::min(m.max_positions, first);
}

/// One linear layer makes queries, keys and values; another makes gate and up. Rope rotates only a
/// part of each head.
void describe_phi3(const Config& root, ModelConfig& m) {
  DecoderConfig& d = m.lm;
  d = load_llama_sizes(root);
  root.only("hidden_act", "silu");
  d.names.qkv = "self_attn.qkv_proj";
  d.names.gate_up = "mlp.gate_up_proj";
  d.window = window_of(root);
  const auto parameters = root.opt_sub("rope_parameters");
  const auto rope = parameters ? parameters : root.opt_sub("rope_scaling");
  const Config& base = parameters && parameters->has("rope_theta") ? *parameters : root;
  d.rope.theta = base.opt_f("rope_theta", kTheta, 1);
  const Config& partial = rope && rope->has("partial_rotary_factor") ? *rope : root;
  const double part = partial.opt_f("partial_rotary_factor", 1, 0, 1);
  d.rope.dim = static_cast<int>(d.head_dim * part + 1e-6);  // `part` may be a rounded quotient
  partial.check("partial_rotary_factor", d.rope.dim >= 2 && d.rope.dim % 2 == 0,
                concat("rotates ", d.rope.dim, " of ", d.head_dim,
                       " columns, expected an even number above 0"));
  if (!rope) return;
  const std::string type = rope->opt_s("rope_type", rope->opt_s("type", "default"));
  if (type == "longrope" || type == "su") return read_longrope(root, *rope, m);
  if (type != "default") rope->fail("rope_type", shown(type) + " is not supported");
}

/// Reads what Gemma 2 and 3 have in common: norms before and after attention and MLP with weights
/// stored minus one, a GELU gate, table rows times sqrt(hidden), and a scale of scores.
DecoderConfig gemma_like(const Config& root, ModelConfig& m) {
  DecoderConfig d = load_llama_sizes(root, kGemmaHeadDim);
  root.only("hidden_activation", "gelu_pytorch_tanh");
  root.only("use_bidirectional_attention", false);
  d.mlp = MlpKind::kGeGlu;
  d.norm_order = NormOrder::kBoth;
  d.norm_offset = 1;
  d.names.mlp_norm = "pre_feedforward_layernorm";
  d.query_scale =
      static_cast<float>(1 / std::sqrt(root.opt_f("query_pre_attn_scalar", kGemmaHeadDim, 1, 1e6)));
  m.table_scale = std::sqrt(static_cast<float>(d.hidden));
  return d;
}

/// Returns the cap that a key sets. A null value means no cap.
float cap_of(const Config& root, const char* key, double absent) {
  if (root.raw().contains(key) && !root.has(key)) return 0;
  return root.opt_f<float>(key, absent, 1e-3, 1e6);
}

void describe_gemma2(const Config& root, ModelConfig& m) {
  m.lm = gemma_like(root, m);
  m.lm.rope = load_rope(root, kTheta);
  m.lm.score_cap = cap_of(root, "attn_logit_softcapping", 50);
  m.logit_cap = cap_of(root, "final_logit_softcapping", 30);
  const auto sliding = sliding_layers(root, m.lm.layers, [](int i) { return i % 2 == 0; });
  set_windows(sliding, root.opt_i<int>("sliding_window", 4096, 1, kMostPositions), m.lm);
}

/// Returns the rope of layers without a window. `rope` may set a divisor of positions, `factor`.
RopeSpec gemma3_rope(const Config& rope, double theta, int dim) {
  RopeSpec spec;
  spec.theta = theta;
  spec.dim = dim;
  const std::string type = rope.opt_s("rope_type", rope.opt_s("type", "default"));
  if (type == "linear") {
    spec.factors.assign(static_cast<size_t>(dim / 2), rope.f<float>("factor", 1, 1e6));
  } else if (type != "default") {
    rope.fail("rope_type", shown(type) + " is not supported");
  }
  return spec;
}

/// Layers with a window have a separate base for rope.
void describe_gemma3(const Config& root, ModelConfig& m) {
  DecoderConfig& d = m.lm;
  d = gemma_like(root, m);
  d.qk_norm = true;
  d.score_cap = cap_of(root, "attn_logit_softcapping", 0);
  m.logit_cap = cap_of(root, "final_logit_softcapping", 0);
  const auto both = root.opt_sub("rope_parameters");
  const auto part = [&](const char* kind, const char* key, double theta) {
    const auto rope = both ? both->opt_sub(kind) : std::optional<Config>();
    const double base = rope ? rope->opt_f("rope_theta", theta, 1) : root.opt_f(key, theta, 1);
    return rope ? gemma3_rope(*rope, base, d.head_dim)
                : gemma3_rope(Config::parse("{}", root.where(kind)), base, d.head_dim);
  };
  d.rope = part("full_attention", "rope_theta", kGemma3Theta);
  d.local_rope = part("sliding_attention", "rope_local_base_freq", kTheta);
  if (const auto scaling = root.opt_sub("rope_scaling"); scaling && !both) {
    d.rope = gemma3_rope(*scaling, d.rope.theta, d.head_dim);
  }
  const int64_t every = root.opt_i("sliding_window_pattern", 6, 1, 512);
  const auto sliding = sliding_layers(root, d.layers, [&](int i) { return (i + 1) % every != 0; });
  d.layer_kinds.resize(static_cast<size_t>(d.layers));
  for (size_t i = 0; i < sliding.size(); ++i)
    if (sliding[i]) d.layer_kinds[i].rope = Rope::kLocal;
  set_windows(sliding, root.opt_i<int>("sliding_window", 4096, 1, kMostPositions), d);
}

constexpr std::array<Architecture, 9> kArchitectures{{
    {"llama", "LlamaForCausalLM", false, &describe_llama},
    {"mistral", "MistralForCausalLM", false, &describe_mistral},
    {"qwen2", "Qwen2ForCausalLM", false, &describe_qwen2},
    {"qwen3", "Qwen3ForCausalLM", false, &describe_qwen3},
    {"olmo2", "Olmo2ForCausalLM", false, &describe_olmo2},
    {"smollm3", "SmolLM3ForCausalLM", true, &describe_smollm3},
    {"gemma2", "Gemma2ForCausalLM", true, &describe_gemma2},
    {"gemma3_text", "Gemma3ForCausalLM", true, &describe_gemma3},
    {"phi3", "Phi3ForCausalLM", false, &describe_phi3},
}};

}  // namespace

const Architecture* architecture_of_type(std::string_view type) {
  const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                  [&](const Architecture& each) { return type == each.type; });
  return found == kArchitectures.end() ? nullptr : &*found;
}

const Architecture* architecture_of(const Config& root) {
  const auto type = root.raw().find("model_type");
  const auto names = root.raw().find("architectures");
  if (type == root.raw().end() || names == root.raw().end() || !type->is_string()) return nullptr;
  const Architecture* found = architecture_of_type(type->get<std::string>());
  return found && *names == nlohmann::json::array({found->name}) ? found : nullptr;
}

}  // namespace syrinx::llm
