#include "codec/qwen3_codec.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "nn/layers.h"

namespace syrinx {

CodecState Qwen3Codec::open() const {
  CodecState state;
  state.kv.push_back(transformer_.open());
  if (!config_.code2wav) state.convs.push_back(pre_conv_.open());
  for (const Upsample& stage : upsample_) {
    state.convs.push_back(stage.up.open());
    state.convs.push_back(stage.mix.open());
  }
  state.convs.push_back(head_.open());
  for (const Block& block : blocks_) {
    state.convs.push_back(block.up.open());
    for (const ResidualUnit& unit : block.units) state.convs.push_back(unit.conv.open());
  }
  state.convs.push_back(tail_.open());
  return state;
}

void Qwen3Codec::snake(StepContext& ctx, const View& x, const Snake& act, const View& out) {
  syrinx::snake(ctx, x, act.alpha, act.inv_beta, ChannelAxis::kLast, out);
}

void Qwen3Codec::run(StepContext& ctx, std::span<const CodecJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  for (const CodecJob& job : jobs) check_codes(job.codes, config_.codebook_size);
  decode_frames(
      ctx, frame_jobs(ctx, jobs, config_.codebooks), config_.hop(), kPassFrames,
      [&](CodecState& state) { return transformer_.room(ctx, state.kv.front()); },
      [&](CodecPass& pass) { return run_pass(ctx, jobs, pass); });
}

void Qwen3Codec::move_to(Device device) {
  const auto move_snake = [&](Snake& act) { syrinx::move_to(device, act.alpha, act.inv_beta); };
  syrinx::move_to(device, codebooks_, embedding_);
  set_tables();
  syrinx::move_to(device, first_out_, rest_out_, in_proj_, out_proj_, transformer_, head_, tail_);
  if (!config_.code2wav) pre_conv_.move_to(device);
  for (Upsample& stage : upsample_) syrinx::move_to(device, stage.up, stage.mix);
  move_snake(tail_act_);
  for (Block& block : blocks_) {
    move_snake(block.act);
    block.up.move_to(device);
    for (ResidualUnit& unit : block.units) {
      move_snake(unit.act1);
      move_snake(unit.act2);
      syrinx::move_to(device, unit.conv, unit.mix);
    }
  }
}

int64_t Qwen3Codec::reach() const {
  const CodecState fresh = open();
  size_t layer = (config_.code2wav ? 0 : 1) + 2 * upsample_.size();
  double rate = 1, frames = 0;  // rate: rows per frame; frames: earlier frames that affect a sample
  for (const int64_t ratio : config_.upsampling_ratios) rate *= static_cast<double>(ratio);
  const auto add_layer = [&] {
    frames += static_cast<double>(fresh.convs[layer++].past.shape()[0]) / rate;
  };
  add_layer();
  for (const Block& block : blocks_) {
    add_layer();
    rate *= static_cast<double>(block.up.stride());
    for (size_t i = 0; i < block.units.size(); ++i) add_layer();
  }
  add_layer();
  return static_cast<int64_t>(std::ceil(frames));
}

void Qwen3Codec::hear(StepContext& ctx, CodecState& state, std::span<const int32_t> codes) const {
  const Arena::Mark mark(ctx.arena);
  const auto q = static_cast<size_t>(config_.codebooks);
  const auto all = static_cast<int64_t>(codes.size() / q);
  const int64_t sounding = std::min(all, reach()), silent = all - sounding;
  check_codes(codes, config_.codebook_size);
  const CodecJob quiet{&state, codes.first(silent * q), {}};
  const FrameJob frames{&state, silent, {}};
  run_passes(
      ctx, std::span(&silent, 1), kPassFrames,
      [&](size_t) { return transformer_.room(ctx, state.kv.front()); },
      [&](std::span<const PassPart> parts) {
        const Arena::Mark pass_mark(ctx.arena), pass_host_mark(ctx.host);
        CodecPass pass(ctx, parts, std::span(&frames, 1));
        run_latent(ctx, pass, std::span(&quiet, 1));
        state.frames += pass.frames();
      });
  const View dropped = ctx.host.take({sounding, config_.hop()}, DType::kF32);
  const CodecJob rest{
      &state, codes.subspan(silent * q), {dropped.f32(), static_cast<size_t>(dropped.count())}};
  run(ctx, std::span(&rest, 1));
  synchronize(ctx);  // because the memory of the dropped samples is released next
}

View Qwen3Codec::run_latent(StepContext& ctx, CodecPass& pass, Jobs jobs) const {
  View x = config_.code2wav ? embed_codes(ctx, jobs, pass)
                            : pass.run(ctx, pre_conv_, dequantise(ctx, jobs, pass));
  x = transform(ctx, pass, x);
  for (const Upsample& stage : upsample_) {
    x = pass.run(ctx, stage.up, x);
    x = pass.run(ctx, stage.mix, x);
  }
  return x;
}

View Qwen3Codec::run_pass(StepContext& ctx, Jobs jobs, CodecPass& pass) const {
  View x = pass.run(ctx, head_, run_latent(ctx, pass, jobs));
  int64_t skip = 0;  // number of rows at the front of a stream to set to zero in the current layer
  for (const Block& block : blocks_) {
    if (config_.code2wav) skip = (skip + 1) * block.up.stride();
    x = decode_block(ctx, pass, block, skip, x);
  }
  snake(ctx, x, tail_act_, x);
  x = pass.run(ctx, tail_, x);
  clamp(ctx, x, -1.f, 1.f, x);
  clear_lead(ctx, pass, skip, x);
  return x;
}

View Qwen3Codec::embed_codes(StepContext& ctx, Jobs jobs, const CodecPass& pass) const {
  const int64_t q = config_.codebooks, n = pass.frames();
  const View x = take_rows(ctx, n, config_.hidden);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  std::span<int32_t> codes = take_array<int32_t>(ctx, n * q);
  for (const PassPart& part : pass.parts()) {
    std::copy_n(jobs[part.job].codes.begin() + part.from * q, part.frames * q,
                codes.begin() + part.begin * q);
  }
  embed_sum(ctx, tables_, codes, x);
  scale_inplace(ctx, x, 1.f / static_cast<float>(q));
  return x;
}

void Qwen3Codec::clear_lead(StepContext& ctx, const CodecPass& pass, int64_t skip,
                            const View& x) const {
  const Arena::Mark host_mark(ctx.host);
  const std::span<CopySpan> spans = take_array<CopySpan>(ctx, std::ssize(pass.parts()));
  size_t count = 0;
  for (const PassPart& part : pass.parts()) {
    const int64_t left = skip - pass.state(part).frames * pass.rate();
    if (left <= 0) continue;
    const int64_t rows = std::min(left, part.frames * pass.rate());
    float* begin = x.f32() + part.begin * pass.rate() * x.shape[1];
    spans[count++] = {nullptr, begin, rows * x.shape[1]};
  }
  if (count > 0) copy_spans(ctx, spans.first(count));
}

View Qwen3Codec::dequantise(StepContext& ctx, Jobs jobs, const CodecPass& pass) const {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim / 2, n = pass.frames();
  const View latent = take_rows(ctx, n, config_.codebook_dim);
  const Arena::Mark mark(ctx.arena);
  std::span<int32_t> first = take_array<int32_t>(ctx, n);
  std::span<int32_t> rest = take_array<int32_t>(ctx, n * (q - 1));
  for (const PassPart& part : pass.parts()) {
    for (int64_t t = 0; t < part.frames; ++t) {
      const auto codes = jobs[part.job].codes.begin() + (part.from + t) * q;
      first[part.begin + t] = *codes;
      std::copy_n(codes + 1, q - 1, rest.begin() + (part.begin + t) * (q - 1));
    }
  }
  const View sum = take_rows(ctx, n, dim);
  embed(ctx, tables_[0], first, sum);
  linear(ctx, first_out_, sum, latent);
  embed_sum(ctx, std::span(tables_).subspan(1), rest, sum);
  linear_add(ctx, rest_out_, sum, latent);
  return latent;
}

View Qwen3Codec::transform(StepContext& ctx, const CodecPass& pass, const View& latent) const {
  const int64_t n = latent.shape[0];
  const View out = config_.code2wav ? latent : take_rows(ctx, n, config_.latent);
  const Arena::Mark mark(ctx.arena);
  const View x = config_.code2wav ? latent : take_rows(ctx, n, config_.hidden);
  if (!config_.code2wav) linear(ctx, in_proj_, latent, x);
  transformer_.forward(ctx, x, pass.rows(ctx, 0, 1));
  transformer_.norm(ctx, x, x);
  if (!config_.code2wav) linear(ctx, out_proj_, x, out);
  return out;
}

View Qwen3Codec::decode_block(StepContext& ctx, CodecPass& pass, const Block& block, int64_t skip,
                              const View& x) const {
  snake(ctx, x, block.act, x);
  const View out = pass.run(ctx, block.up, x);
  clear_lead(ctx, pass, skip, out);
  for (const ResidualUnit& unit : block.units) {
    const Arena::Mark mark(ctx.arena);
    const View first = take_rows(ctx, out.shape[0], out.shape[1]);
    snake(ctx, out, unit.act1, first);
    const View mixed = pass.run(ctx, unit.conv, first);
    snake(ctx, mixed, unit.act2, mixed);
    linear_add(ctx, unit.mix, mixed, out);
    clear_lead(ctx, pass, skip, out);
  }
  return out;
}

}  // namespace syrinx
