#include "codec/fish_codec.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx {

FishCodec::FishCodec(const FishCodecConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  load_quantizer(weights.scope("quantizer"), type);
  load_decoder(weights.scope("decoder"), type);
}

/// Loads the quantizer. The sum over codebooks of W e + b is one product with the concatenated
/// entries of a frame.
void FishCodec::load_quantizer(const Weights& weights, WeightType type) {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim, width = config_.latent;
  Tensor all({width, q * dim}, DType::kF32), bias({width}, DType::kF32);
  for (int64_t i = 0; i < q; ++i) {
    const Weights book = weights.scope(i == 0 ? "semantic_quantizer" : "quantizer")
                             .scope("quantizers", i == 0 ? 0 : i - 1);
    codebooks_.push_back(book.scope("codebook").f32("weight", {config_.codes(i), dim}));
    const Tensor out = folded_weight(book.scope("out_proj"), {width, dim, 1});
    const Tensor add = book.scope("out_proj").f32("bias", {width});
    for (int64_t o = 0; o < width; ++o) {
      std::copy_n(out.f32() + o * dim, dim, all.f32() + o * q * dim + i * dim);
      bias.f32()[o] += add.f32()[o];
    }
  }
  project_ = PackedLinear::pack(all, type, bias);
  transformer_ = StreamDecoder(
      fish_transformer(width, config_.post_layers, config_.post_ffn, FishCodecConfig::kWindow),
      weights.scope("post_module"), type, static_cast<int>(kPassFrames));
  for (size_t i = 0; i < config_.upsample.size(); ++i) {
    const Weights w = weights.scope("upsample", static_cast<int64_t>(i));
    const Weights conv = w.scope("0").scope("conv");
    const int64_t factor = config_.upsample[i];
    Upsample stage;
    stage.up = {conv.take("weight", {width, width, factor}), conv.take("bias", {width}), factor,
                for_convolution(type)};
    stage.mix = ConvNeXt({.channels = width}, w.scope("1"), type);
    upsample_.push_back(std::move(stage));
  }
}

void FishCodec::load_decoder(const Weights& weights, WeightType type) {
  const Weights model = weights.scope("model");
  int64_t width = config_.channels, index = 0;
  const auto next = [&] { return model.scope(std::to_string(index++)); };
  head_ = causal::load_conv(next().scope("conv"), config_.latent, width, causal::kTaps,
                            {.type = for_convolution(type)});
  for (const int64_t rate : config_.rates) {
    const Weights w = next().scope("block");
    Block block;
    block.act = causal::load_snake(w.scope("0"), width);
    block.up = causal::load_up(w.scope("1").scope("conv"), width, width / 2, rate, type);
    width /= 2;
    int64_t unit = 2;
    for (const int64_t dilation : causal::kDilations) {
      block.units.push_back(
          causal::load_unit(w.scope(std::to_string(unit++)), width,
                            {.dilation = dilation, .conv = "conv", .type = type}));
    }
    blocks_.push_back(std::move(block));
  }
  tail_act_ = causal::load_snake(next(), width);
  tail_ = causal::load_conv(next().scope("conv"), width, 1, causal::kTaps,
                            {.type = for_convolution(type)});
}

FishCodecState FishCodec::open() const {
  FishCodecState state;
  state.kv_ = transformer_.open();
  for (const Upsample& stage : upsample_) {
    state.convs_.push_back(stage.up.open());
    state.convs_.push_back(stage.mix.open());
  }
  state.convs_.push_back(head_.open());
  for (const Block& block : blocks_) {
    state.convs_.push_back(block.up.open());
    for (const causal::ResidualUnit& unit : block.units) state.convs_.push_back(unit.conv.open());
  }
  state.convs_.push_back(tail_.open());
  return state;
}

void FishCodec::run(StepContext& ctx, std::span<const FishCodecJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t q = config_.codebooks, hop = config_.hop();
  std::span<int64_t> frames = take_array<int64_t>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto codes = std::ssize(jobs[i].codes), samples = std::ssize(jobs[i].out);
    frames[i] = codes / q;
    SYRINX_CHECK(codes % q == 0 && samples == frames[i] * hop, "[fish_codec] ", codes,
                 " codes do not match ", samples, " samples");
    for (const int32_t code : jobs[i].codes)
      SYRINX_CHECK(code >= 0, "[fish_codec] negative code ", code);
  }
  run_passes(
      ctx, frames, kPassFrames,
      [&](size_t job) { return transformer_.room(ctx, jobs[job].state->kv_); },
      [&](std::span<const PassPart> parts) { run_pass(ctx, jobs, parts); });
}

View FishCodec::dequantise(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim;
  int64_t n = 0;
  for (const PassPart& part : parts) n += part.frames;
  const View latent = take_rows(ctx, n, config_.latent);
  const Arena::Mark mark(ctx.arena);
  const View entries = take_rows(ctx, n, q * dim);
  float* to = entries.f32();
  for (const PassPart& part : parts) {
    const auto codes = jobs[part.job].codes.subspan(part.from * q, part.frames * q);
    for (int64_t i = 0; i < std::ssize(codes); ++i) {
      // The heads of residual codes have as many ids as the semantic head, but their codebooks have
      // fewer. As in the authors' code, an id that is too large becomes the codebook's last one.
      const int64_t code = std::min<int64_t>(codes[i], config_.codes(i % q) - 1);
      to = std::copy_n(codebooks_[i % q].f32() + code * dim, dim, to);
    }
  }
  linear(ctx, project_, entries, latent);
  return latent;
}

void FishCodec::run_pass(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  StreamPass pass(ctx, parts,
                  [&](size_t i) { return std::span<ConvState>(jobs[parts[i].job].state->convs_); });
  View x = dequantise(ctx, jobs, parts);
  const std::span<StreamRows> rows = take_array<StreamRows>(ctx, std::ssize(parts));
  for (size_t i = 0; i < parts.size(); ++i)
    rows[i] = {&jobs[parts[i].job].state->kv_, parts[i].frames};
  transformer_.forward(ctx, x, rows);
  transformer_.norm(ctx, x, x);
  for (const Upsample& stage : upsample_) {
    x = pass.run(ctx, stage.up, x);
    x = pass.run(ctx, stage.mix, x);
  }
  x = pass.run(ctx, head_, x);
  for (const Block& block : blocks_) {
    causal::snake(ctx, x, block.act, x);
    x = pass.run(ctx, block.up, x);
    causal::add_units(ctx, pass, block.units, x);
  }
  causal::snake(ctx, x, tail_act_, x);
  x = pass.run(ctx, tail_, x);
  activate(ctx, Activation::kTanh, x, x);
  const int64_t hop = config_.hop();
  for (const PassPart& part : parts) {
    std::copy_n(x.f32() + part.begin * hop, part.frames * hop,
                jobs[part.job].out.begin() + part.from * hop);
    jobs[part.job].state->frames_ += part.frames;
  }
}

size_t FishCodec::bytes() const {
  size_t sum = project_.bytes() + transformer_.bytes() + head_.bytes() + tail_.bytes();
  for (const Tensor& book : codebooks_) sum += book.bytes();
  for (const Upsample& stage : upsample_) sum += stage.up.bytes() + stage.mix.bytes();
  for (const Block& block : blocks_) {
    sum += block.up.bytes();
    for (const causal::ResidualUnit& unit : block.units)
      sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

size_t FishCodec::state_bytes() const {
  size_t sum = transformer_.state_bytes();
  for (const ConvState& conv : open().convs_) sum += conv.past.bytes();
  return sum;
}

}  // namespace syrinx
