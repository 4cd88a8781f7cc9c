#include "families/moshi/layout.h"

#include <algorithm>

#include "io/file.h"
#include "nn/llama_config.h"

namespace syrinx::moshi {
namespace {

constexpr int64_t kMostWidth = 1 << 14;
// The package's names of files that config.json does not name (moshi:moshi/models/loaders.py).
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kCodec = "tokenizer-e351c8d8-checkpoint125.safetensors";
constexpr const char* kTokenizer = "tokenizer_spm_32k_3.model";

}  // namespace

void check_options(const Config& c) {
  for (const char* key : {"norm_emb", "quantize", "lora"}) c.only(key, false);
  c.only("causal", true);
  c.only("layer_scale", !c.has("layer_scale"), "null");
  c.only("gating", c.s("gating") == "silu", "silu");
  c.only("positional_embedding", c.s("positional_embedding") == "rope", "rope");
  c.only("kv_repeat", 1);
}

Files load_files(const Config& root) {
  for (const char* key : {"moshi_name", "mimi_name", "tokenizer_name", "mimi_config_name"}) {
    const std::string name = root.opt_s(key, "");
    root.only(key, name.find('/') == name.npos, "the name of a file in the same folder");
  }
  return {root.opt_s("moshi_name", kWeights), root.opt_s("mimi_name", kCodec),
          root.opt_s("tokenizer_name", kTokenizer), root.opt_s("mimi_config_name", "")};
}

int gated_width(int wide, int hidden) {
  return wide == 4 * hidden ? 21 * hidden / 8 : 2 * wide / 3;
}

void set_heads(const Config& c, const char* heads_key, int64_t width, DecoderConfig& out) {
  out.hidden = static_cast<int>(width);
  out.heads = out.kv_heads = c.i<int>(heads_key, 1, 256);
  out.head_dim = head_size(c, heads_key, width, out.heads);
}

DecoderConfig load_transformer(const Config& c) {
  DecoderConfig d;
  set_heads(c, "num_heads", c.i("dim", 8, kMostWidth), d);
  d.layers = c.i<int>("num_layers", 1, 256);
  d.ffn = gated_width(static_cast<int>(c.f("hidden_scale", 0.1, 64) * d.hidden), d.hidden);
  const std::string norm = c.s("norm");
  c.only("norm", norm == "rms_norm" || norm == "rms_norm_f32", "rms_norm or rms_norm_f32");
  d.norm_eps = norm == "rms_norm" ? 1e-5f : 1e-8f;
  d.rope = {.theta = c.f("max_period", 1, 1e9), .layout = RopeLayout::kInterleaved};
  d.window = c.i<int>("context", 1, 1 << 14);
  d.names.qkv = "self_attn.qkv", d.names.gate_up = "mlp.gate_up";
  return d;
}

MimiConfig load_mimi(const std::string& dir, const Files& files) {
  MimiConfig m;
  m.interleaved = true;
  m.names.blocks.qkv = "self_attn.qkv";
  if (files.sizes.empty()) return m;
  const Config c = Config::load(join_path(dir, files.sizes));
  const Config sea = c.sub("seanet"), net = c.sub("transformer"), books = c.sub("quantizer");
  m.sample_rate = c.i("sample_rate", 1000, 192000);
  m.hidden = m.encoded = sea.i("dimension", 8, kMostWidth);
  m.filters = sea.i("n_filters", 1, 1 << 12);
  m.residual_layers = sea.i("n_residual_layers", 0, 16);
  m.ratios = sea.ints("ratios", 1, 64);
  m.taps = sea.i("kernel_size", 1, 64);
  m.residual_taps = sea.i("residual_kernel_size", 1, 64);
  m.last_taps = sea.i("last_kernel_size", 1, 64);
  m.dilation_growth = sea.i("dilation_base", 1, 8);
  m.compress = sea.i("compress", 1, 64);
  sea.only("ratios", !m.ratios.empty() && m.ratios.size() <= 8, "a list of 1 to 8");
  sea.only("dilation_base", m.dilation() <= MimiConfig::kMostDilation,
           concat("a dilation of at most ", MimiConfig::kMostDilation, " (", m.dilation(),
                  " in the last of n_residual_layers)"));
  sea.only("compress", m.filters % m.compress == 0, "a divisor of n_filters");
  m.layers = net.i("num_layers", 1, 256);
  m.heads = m.kv_heads = net.i("num_heads", 1, 256);
  m.ffn = net.i("dim_feedforward", 1, 1 << 16);
  m.window = net.i("context", 1, 4096);
  m.rope_theta = net.f("max_period", 1, 1e9);
  net.only("d_model", net.i("d_model", 1, kMostWidth) == m.hidden, "the dimension of seanet");
  m.head_dim = head_size(net, "num_heads", m.hidden, m.heads);
  m.codebook_dim = books.i("dimension", 1, kMostWidth);
  m.codebook_size = books.i("bins", 1, 1 << 20);
  m.codebooks = books.i("n_q", 2, 64);
  const double frame = static_cast<double>(m.sample_rate) / c.f("frame_rate", 0.1, 1000);
  c.only("frame_rate", m.hop() == frame, "half the rate that the ratios make of sample_rate");
  return m;
}

void add_blocks(StoredNames& names, const std::string& ours, const std::string& theirs,
                int64_t layers, std::initializer_list<Name> parts) {
  for (int64_t i = 0; i < layers; ++i)
    for (const Name& part : parts)
      names[concat(ours, "layers.", i, ".", part.ours)] =
          concat(theirs, "layers.", i, ".", part.theirs);
}

void add_language_model(StoredNames& names, const DecoderConfig& lm, int64_t codebooks) {
  add_blocks(names, "", "transformer.", lm.layers,
             {{"input_layernorm.weight", "norm1.alpha"},
              {"post_attention_layernorm.weight", "norm2.alpha"},
              {"self_attn.qkv.weight", "self_attn.in_proj_weight"},
              {"self_attn.o_proj.weight", "self_attn.out_proj.weight"},
              {"mlp.gate_up.weight", "gating.linear_in.weight"},
              {"mlp.down_proj.weight", "gating.linear_out.weight"}});
  names["norm.weight"] = "out_norm.alpha";
  for (const char* name : {"text_emb.weight", "text_linear.weight", "text_linear.bias"})
    names[name] = name;
  for (int64_t q = 0; q < codebooks; ++q)
    names[concat("emb.", q, ".weight")] = concat("emb.", q, ".weight");
}

bool has_newer_names(const WeightSource& file) {
  return std::ranges::any_of(file.names(), [](const std::string& name) {
    return name.find("attn.out_projs.") != name.npos;
  });
}

void use_newer_names(const WeightSource& file, StoredNames& names) {
  if (!has_newer_names(file)) return;
  for (auto& [ours, theirs] : names) {
    for (const auto& [old, list] : {std::pair{".in_proj_weight", ".in_projs."},
                                    std::pair{".out_proj.weight", ".out_projs."}}) {
      if (!theirs.name.ends_with(old)) continue;
      const size_t stem = theirs.name.size() - std::string_view(old).size();
      theirs = concat(theirs.name.substr(0, stem), list, theirs.part, ".weight");
      break;
    }
  }
}

std::unique_ptr<WeightSource> open_mimi(const MimiConfig& mimi, const std::string& path) {
  std::unique_ptr<WeightSource> file = open_weights(path);
  StoredNames names;
  for (const std::string side : {"encoder", "decoder"}) {
    add_blocks(names, side + "_transformer.", side + "_transformer.transformer.", mimi.layers,
               {{"input_layernorm.weight", "norm1.weight"},
                {"input_layernorm.bias", "norm1.bias"},
                {"post_attention_layernorm.weight", "norm2.weight"},
                {"post_attention_layernorm.bias", "norm2.bias"},
                {"self_attn.qkv.weight", "self_attn.in_proj_weight"},
                {"self_attn.o_proj.weight", "self_attn.out_proj.weight"},
                {"mlp.fc1.weight", "linear1.weight"},
                {"mlp.fc2.weight", "linear2.weight"},
                {"self_attn_layer_scale.scale", "layer_scale_1.scale"},
                {"mlp_layer_scale.scale", "layer_scale_2.scale"}});
    // The layers have numbers, activations included.
    const int64_t layers = 3 + std::ssize(mimi.ratios) * (mimi.residual_layers + 2);
    for (int64_t i = 0; i < layers; ++i) {
      for (const std::string part : {"", "block.1.", "block.3."}) {
        for (const char* kind : {"weight", "bias"}) {
          const std::string theirs = concat(side, ".model.", i, ".", part);
          const int64_t above = i - 2, each = mimi.residual_layers + 2;
          const bool raises = side == "decoder" && part.empty() && above >= 0 &&
                              above % each == 0 && above / each < std::ssize(mimi.ratios);
          names[concat(side, ".layers.", i, ".", part, "conv.", kind)] =
              concat(theirs, raises ? "convtr.convtr." : "conv.conv.", kind);
        }
      }
    }
  }
  use_newer_names(*file, names);
  names["downsample.conv.weight"] = "downsample.conv.conv.conv.weight";
  names["upsample.conv.weight"] = "upsample.convtr.convtr.convtr.weight";
  for (const bool semantic : {true, false}) {
    const std::string ours =
        concat("quantizer.", semantic ? "semantic" : "acoustic", "_residual_vector_quantizer.");
    const std::string theirs = concat("quantizer.rvq_", semantic ? "first." : "rest.");
    for (const char* name : {"input_proj.weight", "output_proj.weight"})
      names[ours + name] = theirs + name;
    const int64_t books = semantic ? mimi.semantic : mimi.codebooks - mimi.semantic;
    for (int64_t q = 0; q < books; ++q) {
      const std::string book = concat(ours, "layers.", q, ".codebook.");
      const std::string stored = concat(theirs, "vq.layers.", q, "._codebook.");
      names[book + "embed_sum"] = stored + "embedding_sum";
      names[book + "cluster_usage"] = stored + "cluster_usage";
      names[book + "initialized"] = stored + "_initialized";
    }
  }
  return renamed(std::move(file), std::move(names));
}

}  // namespace syrinx::moshi
