#include "codec/audio_vae.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr int64_t kMostVaeRates = 8, kMostVaeRate = 64, kMostVaeWidth = 1 << 14;

int64_t product_of(const std::vector<int64_t>& rates) {
  return std::accumulate(rates.begin(), rates.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> load_rates(const Config& c, const char* key,
                                const std::vector<int64_t>& absent) {
  if (!c.has(key)) return absent;
  const std::vector<int64_t> rates = c.ints(key, 1, kMostVaeRate);
  c.check(key, !rates.empty() && std::ssize(rates) <= kMostVaeRates,
          concat("expected 1 to ", kMostVaeRates, " rates, got ", rates.size()));
  return rates;
}

/// Returns row `row` of a table [rows, width].
Tensor table_row(const Weights& scope, int64_t rows, int64_t row, int64_t width) {
  const Tensor all = scope.f32("weight", {rows, width});
  Tensor one({width}, DType::kF32);
  std::copy_n(all.f32() + row * width, width, one.f32());
  return one;
}

}  // namespace

int64_t AudioVaeConfig::encoder_hop() const { return product_of(encoder_rates); }
int64_t AudioVaeConfig::decoder_hop() const { return product_of(decoder_rates); }

int64_t AudioVaeConfig::rate_index() const {
  return std::count_if(rate_bounds.begin(), rate_bounds.end(),
                       [&](int64_t bound) { return bound < out_sample_rate; });
}

AudioVaeConfig AudioVaeConfig::load(const Config& c) {
  AudioVaeConfig v;
  v.latent = c.opt_i("latent_dim", v.latent, 1, kMostVaeWidth);
  v.encoder_channels = c.opt_i("encoder_dim", v.encoder_channels, 1, kMostVaeWidth);
  v.encoder_rates = load_rates(c, "encoder_rates", v.encoder_rates);
  v.decoder_channels = c.opt_i("decoder_dim", v.decoder_channels, 1, kMostVaeWidth);
  v.decoder_rates = load_rates(c, "decoder_rates", v.decoder_rates);
  v.sample_rate = c.opt_i("sample_rate", v.sample_rate, 1000, 192000);
  v.out_sample_rate = c.opt_i("out_sample_rate", v.out_sample_rate, 1000, 192000);
  const std::vector<std::string> keys = c.keys();
  // A value of `null` means that the config has no bounds.
  if (std::find(keys.begin(), keys.end(), "sr_bin_boundaries") != keys.end()) {
    v.rate_bounds.clear();
    if (c.has("sr_bin_boundaries")) v.rate_bounds = c.ints("sr_bin_boundaries", 1, 1 << 20);
    c.check("sr_bin_boundaries", std::is_sorted(v.rate_bounds.begin(), v.rate_bounds.end()),
            "must be in ascending order");
  }
  c.check("encoder_dim", v.encoder_channels << v.encoder_rates.size() <= kMostVaeWidth,
          concat("doubled for each rate, it exceeds ", kMostVaeWidth));
  c.check("decoder_dim", v.decoder_channels % (int64_t{1} << v.decoder_rates.size()) == 0,
          "must be divisible by 2^n for n decoder_rates");
  c.check("encoder_rates", v.encoder_hop() <= v.sample_rate, "make a frame longer than a second");
  c.check("decoder_rates", v.decoder_hop() <= v.out_sample_rate,
          "make a frame longer than a second");
  c.check(
      "decoder_rates", v.decoder_hop() * v.sample_rate == v.encoder_hop() * v.out_sample_rate,
      concat("a frame of ", v.encoder_hop(), " samples at ", v.sample_rate, " Hz becomes one of ",
             v.decoder_hop(), " at ", v.out_sample_rate, " Hz, which has another duration"));
  c.only("depthwise", true);
  c.only("use_noise_block", false);
  c.only("cond_out_layer", false);
  const std::string kind = c.opt_s("cond_type", "scale_bias");
  c.check("cond_type", kind == "scale_bias" || kind == "scale_bias_init",
          kind + " is not supported: use scale_bias");
  return v;
}

Weights audio_vae_scope(const Weights& root) {
  const Weights wrapped = root.scope("state_dict");
  return wrapped.count("decoder.model") > 0 ? wrapped : root;
}

AudioVaeDecoder::AudioVaeDecoder(const AudioVaeConfig& config, const Weights& weights,
                                 WeightType type)
    : config_(config) {
  const Weights decoder = weights.scope("decoder"), model = decoder.scope("model");
  const WeightType conv = for_convolution(type);
  const auto count = static_cast<int64_t>(config.rate_bounds.size()) + 1;
  int64_t index = 0, width = config.decoder_channels;
  head_ = causal::load_conv(model.scope("0"), config.latent, config.latent, causal::kTaps,
                            {.groups = config.latent, .type = conv});
  spread_ = causal::load_pointwise(model.scope("1"), config.latent, width, type);
  for (index = 2; index < 2 + std::ssize(config.decoder_rates); ++index) {
    const Weights w = model.scope(std::to_string(index)).scope("block");
    Block block;
    if (!config.rate_bounds.empty()) {
      const Weights rate = decoder.scope("sr_cond_model", index);
      block.gain = table_row(rate.scope("scale_embed"), count, config.rate_index(), width);
      for (int64_t c = 0; c < width; ++c) block.gain.f32()[c] -= 1;
      block.bias = table_row(rate.scope("bias_embed"), count, config.rate_index(), width);
    }
    block.raise = causal::load_raise(w, width, config.decoder_rates[static_cast<size_t>(index - 2)],
                                     {.depthwise = true, .type = type});
    width /= 2;
    blocks_.push_back(std::move(block));
  }
  tail_act_ = causal::load_snake(model.scope(std::to_string(index)), width);
  tail_ = causal::load_conv(model.scope(std::to_string(index + 1)), width, 1, causal::kTaps,
                            {.type = conv});
  decoder.ignore("sr_bin_boundaries");  // a tensor with the same values as in the config
}

CodecState AudioVaeDecoder::open() const {
  CodecState state;
  state.convs.push_back(head_.open());
  for (const Block& block : blocks_) block.raise.open(state.convs);
  state.convs.push_back(tail_.open());
  return state;
}

void AudioVaeDecoder::run(StepContext& ctx, std::span<const LatentJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  decode_frames(
      ctx, frame_jobs(ctx, jobs, config_.latent), config_.decoder_hop(), kPassFrames,
      [](CodecState&) { return kPassFrames; },
      [&](CodecPass& pass) { return run_pass(ctx, jobs, pass); });
}

View AudioVaeDecoder::run_pass(StepContext& ctx, std::span<const LatentJob> jobs,
                               CodecPass& pass) const {
  View x = pass.run(ctx, head_, pass.latents(ctx, jobs, config_.latent));
  const View wide = take_rows(ctx, x.shape[0], spread_.out());
  linear(ctx, spread_, x, wide);
  x = wide;
  for (const Block& block : blocks_) {
    if (!block.gain.empty()) {
      add_scaled_inplace(ctx, x, x, block.gain);
      add_bias_inplace(ctx, x, block.bias);
    }
    x = block.raise.run(ctx, pass, x);
  }
  causal::snake(ctx, x, tail_act_, x);
  x = pass.run(ctx, tail_, x);
  activate(ctx, Activation::kTanh, x, x);
  return x;
}

void AudioVaeDecoder::move_to(Device device) {
  syrinx::move_to(device, head_, spread_, tail_act_, tail_);
  for (Block& block : blocks_) syrinx::move_to(device, block.gain, block.bias, block.raise);
}

size_t AudioVaeDecoder::bytes() const {
  size_t sum = head_.bytes() + spread_.bytes() + tail_.bytes();
  for (const Block& block : blocks_)
    sum += block.raise.bytes() + block.gain.bytes() + block.bias.bytes();
  return sum;
}

}  // namespace syrinx
