#include "codec/qwen3_codec.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/activation.h"
#include "kernels/embedding.h"

namespace syrinx {
namespace {

constexpr int64_t kPieceFrames = 8;  // of one stream in a pass
constexpr int64_t kPassFrames = 8;   // of all streams: bounds the scratch, megabytes a frame

/// Room for `count` plain objects in the arena.
template <typename T>
std::span<T> take_array(StepContext& ctx, size_t count) {
  const View memory = ctx.arena.take(Shape{static_cast<int64_t>(count * sizeof(T))}, DType::kU8);
  T* first = static_cast<T*>(memory.data);
  for (size_t i = 0; i < count; ++i) new (first + i) T();
  return {first, count};
}

View take_f32(StepContext& ctx, int64_t rows, int64_t columns) {
  return ctx.arena.take(Shape{rows, columns}, DType::kF32);
}

View apply(StepContext& ctx, const PackedLinear& w, const View& x) {
  const View out = take_f32(ctx, x.shape[0], w.out());
  linear(ctx, w, x, out);
  return out;
}

}  // namespace

Qwen3CodecState Qwen3Codec::open() const {
  Qwen3CodecState state;
  state.kv_ = KvPool(kv_spec(), static_cast<int64_t>(ring_.size()));
  state.convs_.push_back(pre_conv_.open());
  for (const Upsample& stage : upsample_) {
    state.convs_.push_back(stage.up.open());
    state.convs_.push_back(stage.mix.open());
  }
  state.convs_.push_back(head_.open());
  for (const Block& block : blocks_) {
    state.convs_.push_back(block.up.open());
    for (const ResidualUnit& unit : block.units) state.convs_.push_back(unit.conv.open());
  }
  state.convs_.push_back(tail_.open());
  return state;
}

void Qwen3Codec::snake(StepContext& ctx, const View& x, const Snake& act, const View& out) {
  syrinx::snake(ctx, x, act.alpha, act.inv_beta, ChannelAxis::kLast, out);
}

KvSpec Qwen3Codec::kv_spec() const {
  return {static_cast<int>(config_.layers), static_cast<int>(config_.kv_heads),
          static_cast<int>(config_.head_dim), DType::kF32};
}

void Qwen3Codec::run(StepContext& ctx, std::span<const Qwen3CodecJob> jobs) const {
  Arena::Mark mark(ctx.arena);
  const int64_t q = config_.codebooks, hop = config_.hop();
  for (const Qwen3CodecJob& job : jobs) {
    for (const int32_t code : job.codes) {
      SYRINX_CHECK(code >= 0 && code < config_.codebook_size, "qwen3 codec: code ", code);
    }
    SYRINX_CHECK(job.codes.size() % q == 0 && job.out.size() == job.codes.size() / q * hop,
                 "qwen3 codec: ", job.codes.size(), " codes and ", job.out.size(), " samples");
  }
  std::span<int64_t> done = take_array<int64_t>(ctx, jobs.size());
  std::span<Part> parts = take_array<Part>(ctx, jobs.size());
  for (size_t i = 0; i < jobs.size();) {
    // As many pieces as a pass takes, from the first unfinished job on.
    int64_t frames = 0;
    size_t count = 0;
    for (size_t j = i; j < jobs.size() && frames < kPassFrames; ++j) {
      const int64_t left = static_cast<int64_t>(jobs[j].codes.size()) / q - done[j];
      if (left > 0) {
        rewind(*jobs[j].state);
        const int64_t n =
            std::min({left, kPieceFrames, kPassFrames - frames, limit_ - jobs[j].state->position_});
        parts[count++] = {jobs[j].state, jobs[j].codes.subspan(done[j] * q, n * q),
                          jobs[j].out.subspan(done[j] * hop, n * hop), frames, n};
        done[j] += n;
        frames += n;
      }
    }
    if (count > 0) run_pass(ctx, {parts.first(count), frames});
    while (i < jobs.size() && done[i] * q == static_cast<int64_t>(jobs[i].codes.size())) ++i;
  }
}

void Qwen3Codec::rewind(Qwen3CodecState& state) const {
  if (state.position_ < limit_) return;
  // Attention sees differences of positions only: turn the kept keys back by whole turns of the
  // ring.
  const int64_t half = config_.head_dim / 2, rows = KvPool::kPageRows;
  const float* cos = rope_.cos().f32() + turn_ * half;
  const float* sin = rope_.sin().f32() + turn_ * half;
  for (int layer = 0; layer < config_.layers; ++layer) {
    for (size_t page = 0; page < ring_.size(); ++page) {
      for (int head = 0; head < config_.kv_heads; ++head) {
        float* keys = static_cast<float*>(state.kv_.keys(layer, static_cast<int64_t>(page), head));
        for (int64_t i = 0; i < half * rows; ++i) {
          const float a = keys[i], b = keys[half * rows + i];
          keys[i] = a * cos[i / rows] + b * sin[i / rows];
          keys[half * rows + i] = b * cos[i / rows] - a * sin[i / rows];
        }
      }
    }
  }
  state.position_ -= turn_;
}

void Qwen3Codec::run_pass(StepContext& ctx, const Pass& pass) const {
  Arena::Mark mark(ctx.arena);
  size_t conv = 0;
  int64_t rate = 1;
  View x = transform(ctx, pass, convolve(ctx, pass, pre_conv_, dequantise(ctx, pass), 1, conv));
  for (const Upsample& stage : upsample_) x = upsample(ctx, pass, stage, x, rate, conv);
  x = convolve(ctx, pass, head_, x, rate, conv);
  for (const Block& block : blocks_) x = decode_block(ctx, pass, block, x, rate, conv);
  snake(ctx, x, tail_act_, x);
  x = convolve(ctx, pass, tail_, x, rate, conv);
  clamp(ctx, x, -1.f, 1.f, x);
  const float* samples = x.f32();
  for (const Part& part : pass.parts) {
    std::copy_n(samples + part.begin * rate, part.frames * rate, part.out.begin());
    part.state->frames_ += part.frames;
    part.state->position_ += part.frames;
  }
}

View Qwen3Codec::dequantise(StepContext& ctx, const Pass& pass) const {
  const int64_t n = pass.frames, q = config_.codebooks, dim = config_.codebook_dim / 2;
  const View latent = take_f32(ctx, n, config_.codebook_dim);
  Arena::Mark mark(ctx.arena);
  std::span<int32_t> first = take_array<int32_t>(ctx, n);
  std::span<int32_t> rest = take_array<int32_t>(ctx, n * (q - 1));
  for (const Part& part : pass.parts) {
    for (int64_t t = 0; t < part.frames; ++t) {
      first[part.begin + t] = part.codes[t * q];
      std::copy_n(part.codes.begin() + t * q + 1, q - 1, rest.begin() + (part.begin + t) * (q - 1));
    }
  }
  const View sum = take_f32(ctx, n, dim);
  embed(ctx, tables_[0], first, sum);
  linear(ctx, first_out_, sum, latent);
  embed_sum(ctx, std::span(tables_).subspan(1), rest, sum);
  linear_add(ctx, rest_out_, sum, latent);
  return latent;
}

View Qwen3Codec::transform(StepContext& ctx, const Pass& pass, const View& latent) const {
  const int64_t n = pass.frames;
  const int heads = static_cast<int>(config_.heads), kv = static_cast<int>(config_.kv_heads);
  const int dim = static_cast<int>(config_.head_dim);
  const View out = take_f32(ctx, n, config_.latent);
  Arena::Mark mark(ctx.arena);
  std::span<int32_t> positions = take_array<int32_t>(ctx, n);
  for (const Part& part : pass.parts) {
    for (int64_t t = 0; t < part.frames; ++t) {
      positions[part.begin + t] = static_cast<int32_t>(part.state->position_ + t);
    }
  }
  const View x = apply(ctx, in_proj_, latent);
  const View normed = take_f32(ctx, n, config_.hidden);
  for (size_t l = 0; l < layers_.size(); ++l) {
    const TransformerLayer& layer = layers_[l];
    Arena::Mark layer_mark(ctx.arena);
    layer.norm1(ctx, x, normed);
    const View qkv = apply(ctx, layer.qkv, normed);
    rope(ctx, {qkv, 0, heads, dim}, positions, rope_);
    rope(ctx, {qkv, int64_t{heads} * dim, kv, dim}, positions, rope_);
    const View mixed = take_f32(ctx, n, int64_t{heads} * dim);
    attend(ctx, pass, static_cast<int>(l), qkv, mixed);
    linear_add(ctx, layer.out, mixed, x);
    layer.norm2(ctx, x, normed);
    linear_add(ctx, layer.down, apply(ctx, layer.gate_up, normed), x);
  }
  norm_(ctx, x, normed);
  linear(ctx, out_proj_, normed, out);
  return out;
}

void Qwen3Codec::attend(StepContext& ctx, const Pass& pass, int layer, const View& qkv,
                        const View& out) const {
  const int heads = static_cast<int>(config_.heads), kv = static_cast<int>(config_.kv_heads);
  const int dim = static_cast<int>(config_.head_dim);
  const AttentionSpec spec{1.f / std::sqrt(static_cast<float>(dim)),
                           static_cast<int>(config_.window), true};
  for (const Part& part : pass.parts) {
    const View rows = qkv.slice(part.begin, part.begin + part.frames);
    const int32_t row_begin[2] = {0, static_cast<int32_t>(part.frames)};
    const int32_t kv_len[1] = {static_cast<int32_t>(part.state->position_ + part.frames)};
    const Ragged ragged{row_begin, kv_len, ring_, static_cast<int>(ring_.size())};
    write_kv(ctx, {rows, int64_t{heads} * dim, kv, dim}, {rows, int64_t{heads + kv} * dim, kv, dim},
             part.state->kv_, layer, ragged);
    paged_attention(ctx, {rows, 0, heads, dim}, part.state->kv_, layer, ragged, spec,
                    out.slice(part.begin, part.begin + part.frames));
  }
}

template <typename Conv>
View Qwen3Codec::convolve(StepContext& ctx, const Pass& pass, const Conv& layer, const View& x,
                          int64_t rate, size_t& conv) const {
  int64_t out_rate = rate;
  if constexpr (requires { layer.stride(); }) out_rate *= layer.stride();
  View out = x;  // a ConvNeXt works in place
  if constexpr (requires { layer.out(); }) {
    out = take_f32(ctx, pass.frames * out_rate, layer.out());
  }
  Arena::Mark mark(ctx.arena);
  std::span<ConvJob> jobs = take_array<ConvJob>(ctx, pass.parts.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Part& part = pass.parts[i];
    const int64_t end = part.begin + part.frames;
    jobs[i] = {x.slice(part.begin * rate, end * rate), &part.state->convs_[conv],
               out.slice(part.begin * out_rate, end * out_rate)};
  }
  layer.run(ctx, jobs);
  ++conv;
  return out;
}

View Qwen3Codec::upsample(StepContext& ctx, const Pass& pass, const Upsample& stage, const View& x,
                          int64_t& rate, size_t& conv) const {
  const View raised = convolve(ctx, pass, stage.up, x, rate, conv);
  rate *= stage.up.stride();
  return convolve(ctx, pass, stage.mix, raised, rate, conv);
}

View Qwen3Codec::decode_block(StepContext& ctx, const Pass& pass, const Block& block, const View& x,
                              int64_t& rate, size_t& conv) const {
  snake(ctx, x, block.act, x);
  const View out = convolve(ctx, pass, block.up, x, rate, conv);
  rate *= block.up.stride();
  for (const ResidualUnit& unit : block.units) {
    Arena::Mark mark(ctx.arena);
    const View first = take_f32(ctx, out.shape[0], out.shape[1]);
    snake(ctx, out, unit.act1, first);
    const View mixed = convolve(ctx, pass, unit.conv, first, rate, conv);
    snake(ctx, mixed, unit.act2, mixed);
    linear_add(ctx, unit.mix, mixed, out);
  }
  return out;
}

}  // namespace syrinx
