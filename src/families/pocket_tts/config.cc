#include "families/pocket_tts/config.h"

#include <bit>

#include "base/check.h"
#include "io/hyper_yaml.h"

namespace syrinx::pocket_tts {
namespace {

constexpr int64_t kMostWidth = 1 << 14;
constexpr int64_t kMostHeadDim = 256;  // bound of the attention kernels

/// A yaml file whose optional keys may be null or missing.
struct Yaml {
  HyperYaml file;
  bool has(const std::string& key) const {
    return file.has(key) && !file.s(key).empty() && file.s(key) != "null";
  }
  int64_t i(const std::string& key, int64_t max) const { return file.i(key, 1, max); }
  int64_t i(const std::string& key, int64_t max, int64_t absent) const {
    return has(key) ? i(key, max) : absent;
  }
  bool b(const std::string& key, bool absent) const { return has(key) ? file.b(key) : absent; }
  void only(const std::string& key, bool fine, const std::string& what) const {
    file.check(key, fine, "only " + what + " is supported");
  }
  /// Refuses a number of heads that does not fit the width of a transformer, the value of `name`.
  void check_heads(const std::string& at, int64_t heads, int64_t width,
                   const std::string& name) const {
    const int64_t dim = width / heads;
    only(at + "num_heads", width % heads == 0 && dim % 8 == 0 && dim <= kMostHeadDim,
         concat("a divisor of ", name, " into heads of a multiple of 8 numbers, at most ",
                kMostHeadDim, ","));
  }
};

DecoderNames block_names() {
  DecoderNames names;
  names.attention_norm = "norm1", names.mlp_norm = "norm2";
  names.qkv = "self_attn.in_proj", names.o = "self_attn.out_proj";
  names.fc1 = "linear1", names.fc2 = "linear2";
  names.attention_scale = "layer_scale_1.scale", names.mlp_scale = "layer_scale_2.scale";
  return names;
}

DecoderConfig load_lm(const Yaml& y) {
  const std::string at = "flow_lm.transformer.";
  DecoderConfig c;
  c.hidden = static_cast<int>(y.i(at + "d_model", kMostWidth));
  c.layers = static_cast<int>(y.i(at + "num_layers", 256));
  c.heads = static_cast<int>(y.i(at + "num_heads", 256));
  c.kv_heads = static_cast<int>(y.i(at + "num_kv_heads", 256, c.heads));
  const int64_t width = y.i(at + "attn_dim", kMostWidth, c.hidden);
  y.check_heads(at, c.heads, width, "attn_dim or d_model");
  y.only(at + "num_kv_heads", c.heads % c.kv_heads == 0, "a divisor of num_heads");
  c.head_dim = static_cast<int>(width / c.heads);
  const int64_t scale = y.i(at + "hidden_scale", 64);
  c.ffn = static_cast<int>(y.i(at + "dim_feedforward", 1 << 16, c.hidden * scale));
  c.norm_eps = 1e-5f;
  c.rope = {.theta = static_cast<double>(y.i(at + "max_period", 1 << 30)),
            .layout = RopeLayout::kInterleaved};
  c.norm = NormKind::kLayer;
  c.mlp = MlpKind::kGeluTanh;
  c.final_norm = false;  // FlowLm applies the final norm, out_norm
  c.names = block_names();
  return c;
}

/// Reads one side of the codec. `side`: prefix of its keys; "decoder_" if the decoder has separate
/// sizes, else "".
MimiConfig load_side(const Yaml& y, const std::string& side) {
  const std::string sea = "mimi." + side + "seanet.", net = "mimi." + side + "transformer.";
  MimiConfig c;
  c.sample_rate = y.i("mimi.sample_rate", 192000);
  c.hidden = y.i(sea + "dimension", kMostWidth);
  c.filters = y.i(sea + "n_filters", 1 << 12);
  c.residual_layers = y.i(sea + "n_residual_layers", 16);
  c.ratios = y.file.ints(sea + "ratios", 1, 64);
  c.taps = y.i(sea + "kernel_size", 64);
  c.residual_taps = y.i(sea + "residual_kernel_size", 64);
  c.last_taps = y.i(sea + "last_kernel_size", 64);
  c.dilation_growth = y.i(sea + "dilation_base", 8);
  c.compress = y.i(sea + "compress", 64);
  y.only(sea + "channels", y.i(sea + "channels", 1) == 1, "one channel");
  y.only(sea + "pad_mode", y.file.s(sea + "pad_mode") == "constant", "constant");
  y.only(sea + "ratios", !c.ratios.empty() && c.ratios.size() <= 8, "a list of 1 to 8");
  y.only(sea + "dilation_base", c.dilation() <= MimiConfig::kMostDilation,
         concat("a dilation of at most ", MimiConfig::kMostDilation, " (", c.dilation(),
                " in the last of n_residual_layers)"));
  y.only(sea + "compress", c.filters % c.compress == 0, "a divisor of n_filters");
  c.layers = y.i(net + "num_layers", 256);
  c.heads = c.kv_heads = y.i(net + "num_heads", 256);
  c.ffn = y.i(net + "dim_feedforward", 1 << 16);
  c.window = y.i(net + "context", 4096);
  c.rope_theta = static_cast<double>(y.i(net + "max_period", 1 << 30, 10000));
  for (const char* width : {"d_model", "input_dimension"}) {
    y.only(net + width, y.i(net + width, kMostWidth) == c.hidden, "the dimension of seanet");
  }
  const std::vector<int64_t> outs = y.file.ints(net + "output_dimensions", 1, kMostWidth);
  y.only(net + "output_dimensions", outs == std::vector{c.hidden}, "the dimension of seanet");
  y.check_heads(net, c.heads, c.hidden, "d_model");
  c.head_dim = c.hidden / c.heads;
  c.interleaved = c.gelu_tanh = true;
  const double frame =
      // Gives the samples per frame.
      static_cast<double>(c.sample_rate) / y.file.f("mimi.frame_rate", 0.1, 1000);
  int64_t samples = 1;
  for (const int64_t ratio : c.ratios) samples *= ratio;
  c.latent_rate = static_cast<int64_t>(frame) / samples;
  y.only("mimi.frame_rate",
         c.hop() == frame && std::has_single_bit(static_cast<uint64_t>(c.latent_rate)) &&
             c.latent_rate > 1 && c.latent_rate <= 32,
         "sample_rate divided by the ratios and by 2, 4, 8, 16 or 32,");
  y.only("mimi.frame_rate", c.hop() >= c.sample_rate / 200, "a frame of 5 ms or more");
  c.names = {.upsample = "upsample.convtr.convtr",
             .downsample = "downsample.conv.conv",
             .layers = "model",
             .raise = "convtr",
             .encoder_transformer = "encoder_transformer.transformer",
             .decoder_transformer = "decoder_transformer.transformer",
             .blocks = block_names()};
  return c;
}

void load_codec(const Yaml& y, ModelConfig& c) {
  c.encoder = load_side(y, "");
  const bool seanet = y.file.has("mimi.decoder_seanet.dimension");
  const bool net = y.file.has("mimi.decoder_transformer.d_model");
  y.only("mimi.decoder_transformer", seanet == net,
         "this section if and only if decoder_seanet exists");
  c.decoder = load_side(y, seanet ? "decoder_" : "");
  c.encoder.encoded = y.i("mimi.inner_dim", kMostWidth, c.encoder.hidden);
  const int64_t outer = y.i("mimi.outer_dim", kMostWidth, c.decoder.hidden);
  y.only("mimi.outer_dim", outer == c.decoder.hidden, "the decoder's width (seanet.dimension)");
  y.only("mimi.quantizer.output_dimension",
         y.i("mimi.quantizer.output_dimension", kMostWidth) == outer, "the size of outer_dim");
  y.only("mimi.channels", y.i("mimi.channels", 1) == 1, "one channel");
  c.latent = y.i("mimi.quantizer.dimension", kMostWidth);
}

TextRules load_text(const Yaml& y) {
  TextRules rules;
  rules.pad_short = y.b("pad_with_spaces_for_short_inputs", false);
  rules.remove_semicolons = y.b("remove_semicolons", false);
  rules.end_mark = y.b("append_terminal_punctuation", true);
  rules.capital = y.b("capitalize_first_letter", true);
  const std::string at = "replace_characters.";
  for (const std::string& key : y.file.keys()) {
    if (key.starts_with(at)) rules.replaced.emplace_back(key.substr(at.size()), y.file.s(key));
  }
  return rules;
}

FlowType load_flow(const Yaml& y) {
  const std::string key = "flow_lm.flow.type", type = y.has(key) ? y.file.s(key) : "lsd";
  if (type == "lsd") return FlowType::kDistilled;
  if (type == "pointwise") return FlowType::kPointwise;
  if (type == "drifting") return FlowType::kDrifting;
  y.file.fail(key, "expected lsd, pointwise or drifting, got " + type);
}

}  // namespace

ModelConfig load_model_config(const std::string& path) {
  const Yaml y{HyperYaml::load(path)};
  ModelConfig c;
  c.lm = load_lm(y);
  c.vocab = y.i("flow_lm.lookup_table.n_bins", 1 << 20);
  c.rank = y.i("flow_lm.lookup_table.rank", kMostWidth, 0);
  y.only("flow_lm.lookup_table.dim", y.i("flow_lm.lookup_table.dim", kMostWidth) == c.lm.hidden,
         "the size of d_model");
  c.narrowed = y.has("flow_lm.z_dim");
  c.condition = y.i("flow_lm.z_dim", kMostWidth, c.lm.hidden);
  c.flow_width = y.i("flow_lm.flow.dim", kMostWidth);
  c.flow_blocks = y.i("flow_lm.flow.depth", 256);
  c.flow = load_flow(y);
  c.voice_begins = y.b("flow_lm.insert_bos_before_voice", false);
  for (const char* key : {"flow_lm.dtype", "mimi.dtype"}) {
    y.only(key, y.file.s(key) == "float32", "float32");
  }
  load_codec(y, c);
  c.text = load_text(y);
  const auto number = [&](const char* key, float absent, double least) {
    return y.has(key) ? static_cast<float>(y.file.f(key, least, 1000)) : absent;
  };
  c.temperature = number("default_temperature", c.temperature, 0);
  c.end_threshold = number("default_eos_threshold", c.end_threshold, -1000);
  if (const char* key = "model_recommended_frames_after_eos"; y.has(key)) {
    c.tail = static_cast<int>(y.file.i(key, 0, 1000));
  }
  // The widths of the three kinds of rows must differ, because a row is identified by its width.
  const int64_t width = c.lm.hidden, cache = c.cache_row();
  y.only("mimi.quantizer.dimension", c.latent != width && c.latent != cache && width != cache,
         "a size other than d_model");
  return c;
}

}  // namespace syrinx::pocket_tts
