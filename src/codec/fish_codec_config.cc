#include "codec/fish_codec_config.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "kernels/attention.h"

namespace syrinx {
namespace {

constexpr int64_t kMostRates = 8, kMostRate = 64, kMostWidth = 1 << 14;

/// Returns whether a transformer of this width has heads of a size that attention supports.
bool has_heads(int64_t width) {
  return width % 8 == 0 && width % std::min(width, FishCodecConfig::kHeadDim) == 0;
}

int64_t product(const std::vector<int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
}

/// Reads sizes from the tensors of a scope. If a tensor is missing, a size keeps its value; the
/// code that later loads the tensor reports the error.
class Sizes {
 public:
  explicit Sizes(const Weights& weights) : weights_(weights) {}

  /// Reads dimension `axis` of a tensor's shape into `size`.
  void read(const std::string& name, int axis, int64_t& size) const {
    const std::optional<Shape> shape = weights_.shape(name);
    if (!shape || axis >= shape->dims()) return;
    size = (*shape)[axis];
    if (size < 1 || size > kMostWidth) refuse(name, size);
  }
  /// Reads a dimension of a convolution's kernel, in both forms of weight norm.
  void read_kernel(const std::string& scope, int axis, int64_t& size) const {
    for (const char* name : {"weight", "weight_v", "parametrizations.weight.original1"}) {
      read(scope + "." + name, axis, size);
    }
  }
  /// Reads one rate for each of `count` parts: the taps of a kernel divided by `taps`. If `count`
  /// is 0, the rates keep their values.
  void read_rates(int64_t count, int64_t taps, const std::function<std::string(int64_t)>& kernel,
                  std::vector<int64_t>& rates) const {
    if (count < 1) return;
    if (count > kMostRates) refuse(kernel(count - 1), count);
    rates.assign(static_cast<size_t>(count), 1);
    for (int64_t i = 0; i < count; ++i) {
      int64_t size = taps;
      read_kernel(kernel(i), 2, size);
      rates[static_cast<size_t>(i)] = size / taps;
      if (size % taps != 0 || size > taps * kMostRate) refuse(kernel(i), size);
    }
  }
  [[noreturn]] void refuse(const std::string& name, int64_t size) const {
    throw LoadError(concat("tensor ", weights_.full(name), ": the size ", size,
                           " is not possible in a codec of Fish Speech"));
  }

 private:
  const Weights& weights_;
};

}  // namespace

int64_t FishCodecConfig::hop() const { return product(rates) * product(upsample); }

FishCodecConfig FishCodecConfig::of(const Weights& weights) {
  FishCodecConfig c;
  const Sizes sizes(weights);
  const std::string semantic = "quantizer.semantic_quantizer.quantizers.0.codebook.weight";
  const std::string residual = "quantizer.quantizer.quantizers.";
  sizes.read(semantic, 0, c.semantic_codes);
  sizes.read(semantic, 1, c.codebook_dim);
  sizes.read(residual + "0.codebook.weight", 0, c.residual_codes);
  const int64_t books = weights.count("quantizer.quantizer.quantizers");
  if (books > 0) c.codebooks = books + 1;

  const auto transformer = [&](const std::string& scope, int64_t& layers, int64_t& ffn) {
    const int64_t found = weights.count(scope + ".layers");
    if (found > 0) layers = found;
    sizes.read(scope + ".layers.0.feed_forward.w1.weight", 0, ffn);
  };
  transformer("quantizer.post_module", c.post_layers, c.post_ffn);
  sizes.read_rates(
      weights.count("quantizer.upsample"), 1,
      [](int64_t i) { return concat("quantizer.upsample.", i, ".0.conv"); }, c.upsample);

  // Modules 0 to N are a convolution, the blocks, a snake and a convolution.
  sizes.read_kernel("decoder.model.0.conv", 0, c.channels);
  sizes.read_kernel("decoder.model.0.conv", 1, c.latent);
  sizes.read_rates(
      weights.count("decoder.model") - 3, 2,
      [](int64_t i) { return concat("decoder.model.", i + 1, ".block.1.conv"); }, c.rates);
  if (c.channels % (int64_t{1} << c.rates.size()) != 0) {
    sizes.refuse("decoder.model.0.conv", c.channels);
  }
  if (c.hop() > kSampleRate) sizes.refuse("decoder.model.1.block.1.conv", c.hop());
  if (!has_heads(c.latent)) sizes.refuse("decoder.model.0.conv", c.latent);

  const int64_t parts = weights.count("encoder.block"), blocks = parts - 3;
  // A source of random weights cannot list its names, so one name is looked up.
  c.encodes = parts > 0 || weights.has("encoder.block.0.conv.bias");
  if (!c.encodes) return c;
  transformer("quantizer.pre_module", c.pre_layers, c.pre_ffn);
  sizes.read_rates(
      weights.count("quantizer.downsample"), 1,
      [](int64_t i) { return concat("quantizer.downsample.", i, ".0.conv"); }, c.downsample);
  sizes.read_kernel("encoder.block.0.conv", 0, c.encoder_channels);
  sizes.read_rates(
      blocks, 2, [](int64_t i) { return concat("encoder.block.", i + 1, ".block.4.conv"); },
      c.encoder_rates);
  if (c.encoder_channels << c.encoder_rates.size() > kMostWidth) {
    sizes.refuse("encoder.block.0.conv", c.encoder_channels);
  }
  if (blocks > 0) c.encoder_layers.assign(static_cast<size_t>(blocks), 0);
  for (int64_t i = 0; i < blocks; ++i) {
    transformer(concat("encoder.block.", i + 1, ".block.5"),
                c.encoder_layers[static_cast<size_t>(i)], c.encoder_ffn);
  }
  // The encoder's pieces are whole frames, and its transformers shift positions back by whole
  // pages. Therefore a page must have whole frames.
  const int64_t rows = product(c.encoder_rates) * product(c.downsample);
  if (rows != c.hop()) sizes.refuse("encoder.block.1.block.4.conv", rows);
  for (size_t i = 0; i < c.encoder_rates.size(); ++i) {
    int64_t a_frame = rows;
    for (size_t j = 0; j <= i; ++j) a_frame /= c.encoder_rates[j];
    if (c.encoder_layers[i] == 0) continue;
    const std::string scope = concat("encoder.block.", i + 1, ".block.4.conv");
    if (KvPool::kPageRows % a_frame != 0) sizes.refuse(scope, a_frame);
    if (!has_heads(c.encoder_channels << (i + 1))) {
      sizes.refuse(scope, c.encoder_channels << (i + 1));
    }
  }
  return c;
}

std::string describe_codec(const FishCodecConfig& codec) {
  return concat("1 x ", codec.semantic_codes, " + ", codec.codebooks - 1, " x ",
                codec.residual_codes, " codes, ", codec.post_layers, " layers, ", codec.hop(),
                " samples a frame");
}

DecoderConfig fish_transformer(int64_t width, int64_t layers, int64_t ffn, int64_t window) {
  DecoderConfig d;
  d.head_dim = static_cast<int>(std::min(width, FishCodecConfig::kHeadDim));
  d.heads = d.kv_heads = static_cast<int>(width) / d.head_dim;
  d.layers = static_cast<int>(layers);
  d.hidden = static_cast<int>(width);
  d.ffn = static_cast<int>(ffn);
  d.norm_eps = 1e-5f;
  d.rope.theta = 10000;
  d.rope.layout = RopeLayout::kInterleaved;
  d.rope.bf16 = true;
  d.layer_scale = true;
  d.window = static_cast<int>(window);
  d.names.attention_norm = "attention_norm";
  d.names.qkv = "attention.wqkv";
  d.names.o = "attention.wo";
  d.names.mlp_norm = "ffn_norm";
  d.names.gate = "feed_forward.w1";
  d.names.up = "feed_forward.w3";
  d.names.down = "feed_forward.w2";
  d.names.attention_scale = "attention_layer_scale.gamma";
  d.names.mlp_scale = "ffn_layer_scale.gamma";
  return d;
}

Weights fish_codec_scope(const Weights& root) {
  const Weights wrapped = root.scope("state_dict");
  for (const Weights& scope :
       {root, wrapped, root.scope("generator"), wrapped.scope("generator")}) {
    if (scope.has("decoder.model.0.conv.bias")) return scope;
  }
  return root;
}

}  // namespace syrinx
