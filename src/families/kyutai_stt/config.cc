#include "families/kyutai_stt/config.h"

#include <algorithm>
#include <cmath>

#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "io/renamed_weights.h"

namespace syrinx::kyutai_stt {
namespace {

constexpr int64_t kMostWidth = 1 << 14;
constexpr int64_t kMostHeadDim = 256;  // of the attention kernels
// The package's names of files that config.json does not name (moshi:moshi/models/loaders.py).
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kCodec = "tokenizer-e351c8d8-checkpoint125.safetensors";
constexpr const char* kTokenizer = "tokenizer_spm_32k_3.model";
constexpr double kTail_s = 0.5;

void only(const Config& c, const char* key, bool fine, const std::string& what) {
  if (!fine) c.fail(key, "only " + what + " is supported");
}

/// Refuses a number of heads that does not fit the width of a transformer, the value of `width`.
void check_heads(const Config& c, int64_t heads, const std::string& name, int64_t width) {
  const int64_t dim = width / heads;
  only(c, "num_heads", width % heads == 0 && dim % 8 == 0 && dim <= kMostHeadDim,
       concat("a divisor of ", name, " into heads of a multiple of 8 numbers, at most ",
              kMostHeadDim, ","));
}

/// Refuses the options of the package's other models.
void check_kind(const Config& c) {
  const auto off = [&](const char* key) { only(c, key, !c.opt_b(key, false), "false"); };
  only(c, "dep_q", c.i("dep_q") == 0, "0, a model that makes no audio,");
  const std::vector<int64_t> delays = c.ints("delays", 0, 1000);
  only(c, "delays", std::ranges::all_of(delays, [](int64_t d) { return d == 0; }), "0");
  for (const char* key : {"cross_attention", "norm_emb", "demux_second_stream", "quantize",
                          "demux_second_text_stream", "lora"}) {
    off(key);
  }
  only(c, "causal", c.opt_b("causal", true), "true");
  only(c, "layer_scale", !c.has("layer_scale"), "null");
  only(c, "gating", c.s("gating") == "silu", "silu");
  only(c, "positional_embedding", c.s("positional_embedding") == "rope", "rope");
  only(c, "kv_repeat", c.opt_i("kv_repeat", 1) == 1, "1");
  for (const char* key : {"conditioners", "fuser"}) {
    const auto sub = c.opt_sub(key);
    only(c, key, !sub || sub->keys().empty(), "an empty map");
  }
}

DecoderConfig load_lm(const Config& c) {
  DecoderConfig d;
  d.hidden = static_cast<int>(c.i("dim", 8, kMostWidth));
  d.layers = static_cast<int>(c.i("num_layers", 1, 256));
  d.heads = d.kv_heads = static_cast<int>(c.i("num_heads", 1, 256));
  check_heads(c, d.heads, "dim", d.hidden);
  d.head_dim = d.hidden / d.heads;
  // moshi:moshi/modules/gating.py
  const auto wide = static_cast<int>(c.f("hidden_scale", 0.1, 64) * d.hidden);
  d.ffn = wide == 4 * d.hidden ? 21 * d.hidden / 8 : 2 * wide / 3;
  const std::string norm = c.s("norm");
  only(c, "norm", norm == "rms_norm" || norm == "rms_norm_f32", "rms_norm or rms_norm_f32");
  d.norm_eps = norm == "rms_norm" ? 1e-5f : 1e-8f;
  d.rope = {.theta = c.f("max_period", 1, 1e9), .layout = RopeLayout::kInterleaved};
  d.window = static_cast<int>(c.i("context", 1, 1 << 14));
  d.names.qkv = "self_attn.qkv", d.names.gate_up = "mlp.gate_up";
  return d;
}

/// Reads Mimi's sizes; without a file, they are those of the published codec.
MimiConfig load_mimi(const std::string& file) {
  MimiConfig m;
  m.interleaved = true;
  m.names.blocks.qkv = "self_attn.qkv";
  if (file.empty()) return m;
  const Config c = Config::load(file);
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
  only(sea, "ratios", !m.ratios.empty() && m.ratios.size() <= 8, "a list of 1 to 8");
  only(sea, "dilation_base", m.dilation() <= MimiConfig::kMostDilation,
       concat("a dilation of at most ", MimiConfig::kMostDilation, " (", m.dilation(),
              " in the last of n_residual_layers)"));
  only(sea, "compress", m.filters % m.compress == 0, "a divisor of n_filters");
  m.layers = net.i("num_layers", 1, 256);
  m.heads = m.kv_heads = net.i("num_heads", 1, 256);
  m.ffn = net.i("dim_feedforward", 1, 1 << 16);
  m.window = net.i("context", 1, 4096);
  m.rope_theta = net.f("max_period", 1, 1e9);
  only(net, "d_model", net.i("d_model", 1, kMostWidth) == m.hidden, "the dimension of seanet");
  check_heads(net, m.heads, "d_model", m.hidden);
  m.head_dim = m.hidden / m.heads;
  m.codebook_dim = books.i("dimension", 1, kMostWidth);
  m.codebook_size = books.i("bins", 1, 1 << 20);
  m.codebooks = books.i("n_q", 2, 64);
  const double frame = static_cast<double>(m.sample_rate) / c.f("frame_rate", 0.1, 1000);
  only(c, "frame_rate", m.hop() == frame, "half the rate that the ratios make of sample_rate");
  return m;
}

/// A part of a tensor's name, here and in the package.
struct Name {
  const char *ours, *theirs;
};
using Names = std::map<std::string, std::string>;

/// Adds the names of a stack of blocks.
void add_blocks(Names& names, const std::string& ours, const std::string& theirs, int64_t layers,
                std::initializer_list<Name> parts) {
  for (int64_t i = 0; i < layers; ++i)
    for (const Name& part : parts)
      names[concat(ours, "layers.", i, ".", part.ours)] =
          concat(theirs, "layers.", i, ".", part.theirs);
}

/// Newer files of the package have other names for the linears of attention.
void use_newer_names(const WeightSource& file, Names& names) {
  for (auto& [ours, theirs] : names) {
    const size_t cut = theirs.find("self_attn.");
    if (cut == theirs.npos) continue;
    const bool in = theirs.ends_with("in_proj_weight");
    const std::string newer = theirs.substr(0, cut) +
                              (in ? "self_attn.in_projs.0.weight" : "self_attn.out_projs.0.weight");
    if (file.has(newer)) theirs = newer;
  }
}

}  // namespace

int64_t ModelConfig::frames_before() const {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(silence_s / frame_s())));
}

int64_t ModelConfig::frames_after() const {
  return static_cast<int64_t>(std::ceil((delay_s + kTail_s) / frame_s()));
}

double ModelConfig::time_of(int64_t frame) const {
  return std::max(0.0, static_cast<double>(frame - frames_before()) * frame_s() - delay_s);
}

bool claims(const Config& root) { return model_type(root) == "stt" && root.has("mimi_name"); }

ModelConfig load_model_config(const Config& root, const std::string& dir) {
  check_kind(root);
  ModelConfig m;
  m.lm = load_lm(root);
  const std::string sizes = root.opt_s("mimi_config_name", "");
  m.mimi = load_mimi(sizes.empty() ? "" : join_path(dir, sizes));
  m.card = root.i("card", 1, 1 << 20);
  only(root, "card", m.card == m.mimi.codebook_size, "the number of Mimi's codes");
  const int64_t heard = root.i("n_q", 2, 64);
  only(root, "n_q", heard <= m.mimi.codebooks, "at most the number of Mimi's codebooks");
  only(root, "delays", std::ssize(root.ints("delays")) == heard + 1, "a list of n_q + 1");
  m.mimi.codebooks = heard;
  m.text_in = root.i("text_card", 8, 1 << 20);
  m.text_out = root.opt_i("text_card_out", m.text_in, 8, m.text_in);
  m.pad = static_cast<int32_t>(root.opt_i("existing_text_padding_id", 3, 0, m.text_out - 1));
  m.word_end = static_cast<int32_t>(root.opt_i("existing_text_end_padding_id", 0, 0, m.pad));
  m.biased = root.opt_b("bias_proj", false);
  m.turn_heads = root.opt_i("extra_heads_num_heads", 0, 0, 64);
  m.turn_width = root.opt_i("extra_heads_dim", 6, 1, 1024);
  // The values that stand for absent ones are those of stt_from_file_pytorch.py.
  const auto stt = root.opt_sub("stt_config");
  m.silence_s = stt ? stt->opt_f("audio_silence_prefix_seconds", 1, 0, 30) : 1;
  m.delay_s = stt ? stt->opt_f("audio_delay_seconds", 5, 0, 30) : 5;
  m.weights = root.opt_s("moshi_name", kWeights);
  m.codec = root.opt_s("mimi_name", kCodec);
  m.tokenizer = root.opt_s("tokenizer_name", kTokenizer);
  for (const char* key : {"moshi_name", "mimi_name", "tokenizer_name", "mimi_config_name"}) {
    const std::string name = root.opt_s(key, "");
    only(root, key, name.find('/') == name.npos, "the name of a file in the same folder");
  }
  return m;
}

std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path) {
  std::unique_ptr<WeightSource> file = open_weights(path);
  Names names;
  add_blocks(names, "", "transformer.", config.lm.layers,
             {{"input_layernorm.weight", "norm1.alpha"},
              {"post_attention_layernorm.weight", "norm2.alpha"},
              {"self_attn.qkv.weight", "self_attn.in_proj_weight"},
              {"self_attn.o_proj.weight", "self_attn.out_proj.weight"},
              {"mlp.gate_up.weight", "gating.linear_in.weight"},
              {"mlp.down_proj.weight", "gating.linear_out.weight"}});
  names["norm.weight"] = "out_norm.alpha";
  for (const char* name : {"text_emb.weight", "text_linear.weight", "text_linear.bias"})
    names[name] = name;
  for (int64_t q = 0; q < config.mimi.codebooks; ++q)
    names[concat("emb.", q, ".weight")] = concat("emb.", q, ".weight");
  for (int64_t h = 0; h < config.turn_heads; ++h)
    names[concat("extra_heads.", h, ".weight")] = concat("extra_heads.", h, ".weight");
  use_newer_names(*file, names);
  return renamed(std::move(file), std::move(names));
}

std::unique_ptr<WeightSource> open_mimi(const ModelConfig& config, const std::string& path) {
  const MimiConfig& mimi = config.mimi;
  std::unique_ptr<WeightSource> file = open_weights(path);
  Names names;
  add_blocks(names, "encoder_transformer.", "encoder_transformer.transformer.", mimi.layers,
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
  use_newer_names(*file, names);
  // The layers have numbers, activations included.
  const int64_t layers = 3 + std::ssize(mimi.ratios) * (mimi.residual_layers + 2);
  for (int64_t i = 0; i < layers; ++i) {
    for (const std::string part : {"", "block.1.", "block.3."})
      for (const char* kind : {"weight", "bias"})
        names[concat("encoder.layers.", i, ".", part, "conv.", kind)] =
            concat("encoder.model.", i, ".", part, "conv.conv.", kind);
  }
  names["downsample.conv.weight"] = "downsample.conv.conv.conv.weight";
  for (const bool semantic : {true, false}) {
    const std::string ours =
        concat("quantizer.", semantic ? "semantic" : "acoustic", "_residual_vector_quantizer.");
    const std::string theirs = concat("quantizer.rvq_", semantic ? "first." : "rest.");
    names[ours + "input_proj.weight"] = theirs + "input_proj.weight";
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

}  // namespace syrinx::kyutai_stt
