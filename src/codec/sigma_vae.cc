#include "codec/sigma_vae.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr int64_t kMostSigmaRates = 8, kMostSigmaRate = 64, kMostSigmaWidth = 1 << 14;
constexpr int64_t kMostSigmaBlocks = 64;  // limit of blocks per stage

/// Reads the numbers of a text such as "3-3-8".
std::vector<int64_t> load_depths(const Config& c, const char* key) {
  const std::string text = c.s(key);
  std::vector<int64_t> depths;
  const char *at = text.data(), *end = at + text.size();
  for (bool more = true; more;) {
    int64_t depth = 0;
    const auto [next, fault] = std::from_chars(at, end, depth);
    c.check(key,
            fault == std::errc() && depth >= 1 && depth <= kMostSigmaBlocks &&
                (next == end || *next == '-'),
            concat("expected numbers of 1 to ", kMostSigmaBlocks,
                   " with hyphens between them, got \"", text, "\""));
    depths.push_back(depth);
    more = next != end;
    at = next + 1;
  }
  return depths;
}

/// Multiplies output `o` of a convolution's weight [O, *] or bias [O] by gain[o].
void scale_outputs(Tensor& numbers, const Tensor& gain) {
  const int64_t outputs = gain.shape()[0], each = numbers.view().count() / outputs;
  for (int64_t i = 0; i < outputs * each; ++i) numbers.f32()[i] *= gain.f32()[i / each];
}

CausalConv1d load_causal(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                         WeightType type) {
  const Weights conv = scope.scope("conv.conv");
  return {conv.take("weight", {out, in, taps}), conv.take("bias", {out}), {.type = type}};
}

}  // namespace

int64_t SigmaVaeConfig::hop() const {
  int64_t product = 1;
  for (const int64_t ratio : ratios) product *= ratio;
  return product;
}

int64_t SigmaVaeConfig::width(size_t stage) const { return filters << (depths.size() - 1 - stage); }

SigmaVaeConfig SigmaVaeConfig::load(const Config& c) {
  SigmaVaeConfig v;
  v.latent = c.i("vae_dim", 1, kMostSigmaWidth);
  v.filters = c.opt_i("decoder_n_filters", v.filters, 1, kMostSigmaWidth);
  const char* ratios = c.has("decoder_ratios") ? "decoder_ratios" : "encoder_ratios";
  v.ratios = c.ints(ratios, 1, kMostSigmaRate);
  c.check(ratios, !v.ratios.empty() && std::ssize(v.ratios) <= kMostSigmaRates,
          concat("expected 1 to ", kMostSigmaRates, " ratios, got ", v.ratios.size()));
  const char* depths = c.has("decoder_depths") ? "decoder_depths" : "encoder_depths";
  v.depths = load_depths(c, depths);
  if (!c.has("decoder_depths")) std::ranges::reverse(v.depths);
  c.check(depths, v.depths.size() == v.ratios.size() + 1,
          concat("expected one depth more than the ", v.ratios.size(), " of ", ratios, ", got ",
                 v.depths.size()));
  c.check("decoder_n_filters", v.width(0) <= kMostSigmaWidth,
          concat("doubled for each of the ratios, it exceeds ", kMostSigmaWidth));
  v.taps = c.opt_i("kernel_size", v.taps, 1, 64);
  v.last_taps = c.opt_i("last_kernel_size", v.last_taps, 1, 64);
  v.norm_eps = c.opt_f<float>("layernorm_eps", v.norm_eps, 0, 1);
  v.layer_scale = c.opt_f("layer_scale_init_value", 0, -1e9, 1e9) > 0;
  c.only("channels", 1);
  c.only("mixer_layer", "depthwise_conv");
  c.only("conv_norm", "none");
  c.only("pad_mode", "constant");
  c.only("layernorm", "RMSNorm");
  for (const char* key :
       {"causal", "conv_bias", "disable_last_norm", "layernorm_elementwise_affine"}) {
    c.only(key, true);
  }
  return v;
}

SigmaVaeDecoder::SigmaVaeDecoder(const SigmaVaeConfig& config, const Weights& weights,
                                 WeightType type)
    : config_(config) {
  const WeightType conv = for_convolution(type);
  first_ = load_causal(weights.scope("upsample_layers.0.0"), config.latent, config.width(0),
                       config.taps, conv);
  for (size_t i = 0; i < config.depths.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const int64_t width = config.width(i);
    Stage stage;
    if (i > 0) {
      const int64_t ratio = config.ratios[i - 1];
      const Weights raise = weights.scope("upsample_layers", index).scope("0.convtr.convtr");
      stage.raise = CausalConvTranspose1d(raise.take("weight", {2 * width, width, 2 * ratio}),
                                          raise.take("bias", {width}), ratio, conv);
    }
    for (int64_t block = 0; block < config.depths[i]; ++block) {
      const Weights scope = weights.scope("stages", index).scope(std::to_string(block));
      stage.blocks.push_back(load_block(scope, width, type));
    }
    stages_.push_back(std::move(stage));
  }
  last_ = load_causal(weights.scope("head"), config.filters, 1, config.last_taps, conv);
}

SigmaVaeDecoder::Block SigmaVaeDecoder::load_block(const Weights& weights, int64_t width,
                                                   WeightType type) const {
  const WeightType rows = for_many_rows(type);
  const Weights mixer = weights.scope("mixer.conv.conv.conv"), mlp = weights.scope("ffn");
  Tensor weight = mixer.f32("weight", {width, 1, config_.taps});
  Tensor bias = mixer.f32("bias", {width}), gain;
  // The gain of each branch is multiplied into the branch's last layer.
  if (config_.layer_scale) {
    const Tensor mixed = weights.f32("gamma", {width});
    scale_outputs(weight, mixed);
    scale_outputs(bias, mixed);
    gain = weights.f32("ffn_gamma", {width});
  }
  return {
      RmsNorm(weights.scope("norm"), width, config_.norm_eps),
      RmsNorm(weights.scope("ffn_norm"), width, config_.norm_eps),
      CausalConv1d(weight.view(), bias.view(), {.groups = width, .type = for_convolution(type)}),
      load_linear(mlp, "linear1", 4 * width, width, true, rows),
      gain.empty() ? load_linear(mlp, "linear2", width, 4 * width, true, rows)
                   : load_linear_scaled(mlp, "linear2", width, 4 * width, true, gain.view(), rows)};
}

CodecState SigmaVaeDecoder::open() const {
  CodecState state;
  state.convs.push_back(first_.open());
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (i > 0) state.convs.push_back(stages_[i].raise.open());
    for (const Block& block : stages_[i].blocks) state.convs.push_back(block.mixer.open());
  }
  state.convs.push_back(last_.open());
  return state;
}

void SigmaVaeDecoder::run(StepContext& ctx, std::span<const LatentJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  decode_frames(
      ctx, frame_jobs(ctx, jobs, config_.latent), config_.hop(), kPassFrames,
      [](CodecState&) { return kPassFrames; },
      [&](CodecPass& pass) { return run_pass(ctx, jobs, pass); });
}

View SigmaVaeDecoder::run_pass(StepContext& ctx, std::span<const LatentJob> jobs,
                               CodecPass& pass) const {
  View x = pass.run(ctx, first_, pass.latents(ctx, jobs, config_.latent));
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (i > 0) x = pass.run(ctx, stages_[i].raise, x);
    for (const Block& block : stages_[i].blocks) {
      const Arena::Mark block_mark(ctx.arena);
      const View inner = take_rows(ctx, x.shape[0], x.shape[1]);
      block.norm(ctx, x, inner);
      add_inplace(ctx, x, pass.run(ctx, block.mixer, inner));
      block.mlp_norm(ctx, x, inner);
      const View wide = take_rows(ctx, x.shape[0], block.up.out());
      linear(ctx, block.up, inner, wide);
      activate(ctx, Activation::kGelu, wide, wide);
      linear_add(ctx, block.down, wide, x);
    }
  }
  return pass.run(ctx, last_, x);
}

void SigmaVaeDecoder::move_to(Device device) {
  syrinx::move_to(device, first_, last_);
  for (size_t i = 0; i < stages_.size(); ++i) {
    if (i > 0) stages_[i].raise.move_to(device);
    for (Block& block : stages_[i].blocks)
      syrinx::move_to(device, block.norm, block.mlp_norm, block.mixer, block.up, block.down);
  }
}

size_t SigmaVaeDecoder::bytes() const {
  size_t sum = first_.bytes() + last_.bytes();
  for (const Stage& stage : stages_) {
    sum += stage.raise.bytes();
    for (const Block& block : stage.blocks)
      sum += block.mixer.bytes() + block.up.bytes() + block.down.bytes();
  }
  return sum;
}

}  // namespace syrinx
