#include "codec/fish_codec.h"

#include <algorithm>
#include <limits>

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
    blocks_.push_back(
        causal::load_raise(next().scope("block"), width, rate, {.conv = "conv", .type = type}));
    width /= 2;
  }
  tail_act_ = causal::load_snake(next(), width);
  tail_ = causal::load_conv(next().scope("conv"), width, 1, causal::kTaps,
                            {.type = for_convolution(type)});
}

CodecState FishCodec::open() const {
  CodecState state;
  state.kv.push_back(transformer_.open());
  for (const Upsample& stage : upsample_) {
    state.convs.push_back(stage.up.open());
    state.convs.push_back(stage.mix.open());
  }
  state.convs.push_back(head_.open());
  for (const causal::Raise& block : blocks_) block.open(state.convs);
  state.convs.push_back(tail_.open());
  return state;
}

void FishCodec::run(StepContext& ctx, std::span<const CodecJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  for (const CodecJob& job : jobs) check_codes(job.codes, std::numeric_limits<int32_t>::max());
  decode_frames(
      ctx, frame_jobs(ctx, jobs, config_.codebooks), config_.hop(), kPassFrames,
      [&](CodecState& state) { return transformer_.room(ctx, state.kv.front()); },
      [&](CodecPass& pass) { return run_pass(ctx, jobs, pass); });
}

View FishCodec::dequantise(StepContext& ctx, std::span<const CodecJob> jobs,
                           const CodecPass& pass) const {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim, n = pass.frames();
  const View latent = take_rows(ctx, n, config_.latent);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View entries = ctx.host.take({n, q * dim}, DType::kF32);
  float* to = entries.f32();
  for (const PassPart& part : pass.parts()) {
    const auto codes = jobs[part.job].codes.subspan(part.from * q, part.frames * q);
    for (int64_t i = 0; i < std::ssize(codes); ++i) {
      // The heads of residual codes have as many ids as the semantic head, but their codebooks have
      // fewer. As in the authors' code, an id that is too large becomes the codebook's last one.
      const int64_t code = std::min<int64_t>(codes[i], config_.codes(i % q) - 1);
      to = std::copy_n(codebooks_[i % q].f32() + code * dim, dim, to);
    }
  }
  linear(ctx, project_, upload(ctx, entries), latent);
  return latent;
}

View FishCodec::run_pass(StepContext& ctx, std::span<const CodecJob> jobs, CodecPass& pass) const {
  View x = dequantise(ctx, jobs, pass);
  transformer_.forward(ctx, x, pass.rows(ctx, 0, 1));
  transformer_.norm(ctx, x, x);
  for (const Upsample& stage : upsample_) {
    x = pass.run(ctx, stage.up, x);
    x = pass.run(ctx, stage.mix, x);
  }
  x = pass.run(ctx, head_, x);
  for (const causal::Raise& block : blocks_) x = block.run(ctx, pass, x);
  causal::snake(ctx, x, tail_act_, x);
  x = pass.run(ctx, tail_, x);
  activate(ctx, Activation::kTanh, x, x);
  return x;
}

void FishCodec::move_to(Device device) {
  syrinx::move_to(device, project_, transformer_, head_, blocks_, tail_act_, tail_);
  for (Upsample& stage : upsample_) syrinx::move_to(device, stage.up, stage.mix);
}

size_t FishCodec::bytes() const {
  size_t sum = weight_bytes(project_, transformer_, head_, tail_, codebooks_, blocks_);
  for (const Upsample& stage : upsample_) sum += weight_bytes(stage.up, stage.mix);
  return sum;
}

}  // namespace syrinx
