// Builds Qwen3Codec from a checkpoint's tensors.
#include <cmath>

#include "codec/qwen3_codec.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr float kClusterFloor = 1e-5f;  // codebook = embedding_sum / max(cluster_usage, floor)
constexpr int64_t kUnitDilations[] = {1, 3, 9};

/// Loads a convolution of one tap as a linear.
PackedLinear load_pointwise(const Weights& w, int64_t in, int64_t out, bool bias, WeightType type) {
  return PackedLinear::pack(w.take("weight", {out, in, 1}).reshape({out, in}), type,
                            bias ? w.take("bias", {out}) : View{});
}

CausalConv1d load_conv(const Weights& w, int64_t in, int64_t out, int64_t taps,
                       const CausalConv1dOptions& options) {
  return {w.take("weight", {out, in / options.groups, taps}), w.take("bias", {out}), options};
}

CausalConvTranspose1d load_transpose(const Weights& w, int64_t in, int64_t out, int64_t taps,
                                     int64_t stride, WeightType type) {
  return {w.take("weight", {in, out, taps}), w.take("bias", {out}), stride, type};
}

}  // namespace

Qwen3Codec::Qwen3Codec(const Qwen3CodecConfig& config, const Weights& weights, WeightType type)
    : config_(config), type_(type) {
  const Weights decoder = config.code2wav ? weights : weights.scope("decoder");
  if (config.code2wav) {
    embedding_ = Embedding(decoder.scope("code_embedding"), config.codebooks * config.codebook_size,
                           config.hidden, type == WeightType::kF32 ? DType::kF32 : DType::kBF16);
  } else {
    load_quantizer(decoder.scope("quantizer"));
  }
  set_tables();
  load_transformer(decoder);
  load_decoder(decoder);
}

void Qwen3Codec::set_tables() {
  tables_.assign(codebooks_.begin(), codebooks_.end());
  const int64_t size = config_.codebook_size;
  for (int64_t q = 0; config_.code2wav && q < config_.codebooks; ++q)
    tables_.push_back(embedding_.table().slice(q * size, (q + 1) * size));
}

void Qwen3Codec::load_quantizer(const Weights& weights) {
  const int64_t size = config_.codebook_size, dim = config_.codebook_dim / 2;
  for (int64_t q = 0; q < config_.codebooks; ++q) {
    const Weights layer = weights.scope(q == 0 ? "rvq_first" : "rvq_rest")
                              .scope("vq")
                              .scope("layers", q == 0 ? 0 : q - 1)
                              .scope("_codebook");
    Tensor table = layer.f32("embedding_sum", {size, dim});
    const Tensor usage = layer.f32("cluster_usage", {size});
    for (int64_t v = 0; v < size; ++v) {
      const float count = std::max(usage.f32()[v], kClusterFloor);
      for (int64_t i = 0; i < dim; ++i) table.f32()[v * dim + i] /= count;
    }
    codebooks_.push_back(std::move(table));
  }
  first_out_ = load_pointwise(weights.scope("rvq_first").scope("output_proj"), dim,
                              config_.codebook_dim, false, type_);
  rest_out_ = load_pointwise(weights.scope("rvq_rest").scope("output_proj"), dim,
                             config_.codebook_dim, false, type_);
  // Used only by the encoder.
  weights.ignore("rvq_first.input_proj.weight");
  weights.ignore("rvq_rest.input_proj.weight");
}

void Qwen3Codec::load_transformer(const Weights& weights) {
  const Weights w = weights.scope("pre_transformer");
  if (!config_.code2wav) {
    CausalConv1dOptions options;
    options.type = for_convolution(type_);
    pre_conv_ = load_conv(weights.scope("pre_conv").scope("conv"), config_.codebook_dim,
                          config_.latent, 3, options);
    in_proj_ = load_linear(w, "input_proj", config_.hidden, config_.latent, true, type_);
    out_proj_ = load_linear(w, "output_proj", config_.latent, config_.hidden, true, type_);
  }
  DecoderConfig d;
  d.layers = static_cast<int>(config_.layers);
  d.hidden = static_cast<int>(config_.hidden);
  d.heads = static_cast<int>(config_.heads);
  d.kv_heads = static_cast<int>(config_.kv_heads);
  d.head_dim = static_cast<int>(config_.head_dim);
  d.ffn = static_cast<int>(config_.ffn);
  d.norm_eps = static_cast<float>(config_.rms_eps);
  d.rope.theta = config_.rope_theta;
  d.layer_scale = true;
  d.window = static_cast<int>(config_.window);
  transformer_ = StreamDecoder(d, w, type_, static_cast<int>(kPassFrames));
}

Qwen3Codec::Snake Qwen3Codec::load_snake(const Weights& weights, int64_t channels) const {
  Snake snake{weights.f32("alpha", {channels}), weights.f32("beta", {channels})};
  for (int64_t c = 0; c < channels; ++c) {
    snake.alpha.f32()[c] = std::exp(snake.alpha.f32()[c]);
    snake.inv_beta.f32()[c] = 1.f / (std::exp(snake.inv_beta.f32()[c]) + kSnakeEps);
  }
  return snake;
}

Qwen3Codec::Upsample Qwen3Codec::load_upsample(const Weights& w, int64_t factor) const {
  const int64_t width = config_.latent;
  Upsample stage;
  stage.up = load_transpose(w.scope("0").scope("conv"), width, width, factor, factor,
                            for_convolution(type_));
  ConvNeXtConfig mix;
  mix.channels = width;
  stage.mix = ConvNeXt(mix, w.scope("1"), type_);
  return stage;
}

Qwen3Codec::Block Qwen3Codec::load_block(const Weights& weights, int64_t in, int64_t out,
                                         int64_t rate) const {
  const Weights w = weights.scope("block");
  Block block;
  block.act = load_snake(w.scope("0"), in);
  block.up =
      load_transpose(w.scope("1").scope("conv"), in, out, 2 * rate, rate, for_convolution(type_));
  int64_t index = 2;
  for (const int64_t dilation : kUnitDilations) {
    const Weights u = w.scope(std::to_string(index++));
    CausalConv1dOptions options;
    options.dilation = dilation;
    options.type = for_convolution(type_);
    ResidualUnit unit;
    unit.act1 = load_snake(u.scope("act1"), out);
    unit.conv = load_conv(u.scope("conv1").scope("conv"), out, out, 7, options);
    unit.act2 = load_snake(u.scope("act2"), out);
    unit.mix = load_pointwise(u.scope("conv2").scope("conv"), out, out, true, for_many_rows(type_));
    block.units.push_back(std::move(unit));
  }
  return block;
}

void Qwen3Codec::load_decoder(const Weights& weights) {
  for (size_t i = 0; i < config_.upsampling_ratios.size(); ++i) {
    upsample_.push_back(load_upsample(weights.scope("upsample", static_cast<int64_t>(i)),
                                      config_.upsampling_ratios[i]));
  }
  const Weights w = weights.scope("decoder");
  CausalConv1dOptions options;
  options.type = for_convolution(type_);
  int64_t index = 0, width = config_.decoder_dim;
  head_ =
      load_conv(w.scope(std::to_string(index++)).scope("conv"), config_.latent, width, 7, options);
  for (const int64_t rate : config_.upsample_rates) {
    blocks_.push_back(load_block(w.scope(std::to_string(index++)), width, width / 2, rate));
    width /= 2;
  }
  tail_act_ = load_snake(w.scope(std::to_string(index++)), width);
  tail_ = load_conv(w.scope(std::to_string(index)).scope("conv"), width, 1, 7, options);
}

size_t Qwen3Codec::bytes() const {
  size_t sum = first_out_.bytes() + rest_out_.bytes() + pre_conv_.bytes() + in_proj_.bytes() +
               out_proj_.bytes() + transformer_.bytes() + head_.bytes() + tail_.bytes();
  sum += embedding_.bytes();
  for (const Tensor& table : codebooks_) sum += table.bytes();
  for (const Upsample& u : upsample_) {
    sum += u.up.bytes() + u.mix.bytes();
  }
  for (const Block& block : blocks_) {
    sum += block.up.bytes();
    for (const ResidualUnit& unit : block.units) sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

}  // namespace syrinx
