#include "codec/dac_decoder.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/activation.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

constexpr int64_t kPieceFrames = 8;    // of one stream in a pass
constexpr int64_t kPassFrames = 8;     // of all streams: bounds the scratch, megabytes a frame
constexpr int64_t kNoiseRows = 256;    // normals of one counter
constexpr uint32_t kNoiseStream = 64;  // + block

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

}  // namespace

DacDecoderState DacDecoder::open(uint64_t seed) const {
  DacDecoderState state;
  state.seed_ = seed;
  state.convs_.push_back(head_.open());
  for (const Block& block : blocks_) {
    state.convs_.push_back(block.up.open());
    for (const ResidualUnit& unit : block.units) {
      state.convs_.push_back(unit.conv.open());
      state.delays_.emplace_back(unit.conv.ahead(), unit.conv.in(), 0);
    }
  }
  state.convs_.push_back(tail_.open());
  state.noise_at_.assign(blocks_.size(), 0);
  return state;
}

int64_t DacDecoder::samples(int64_t before, int64_t t, bool last) const {
  const auto certain = [&](int64_t frames) {
    return std::max<int64_t>(0, frames * config_.hop() - config_.delay());
  };
  return (last ? (before + t) * config_.hop() : certain(before + t)) - certain(before);
}

void DacDecoder::run(StepContext& ctx, std::span<const DacDecoderJob> jobs) const {
  Arena::Mark mark(ctx.arena);
  std::span<int64_t> done = take_array<int64_t>(ctx, jobs.size());
  std::span<int64_t> written = take_array<int64_t>(ctx, jobs.size());
  std::span<bool> ended = take_array<bool>(ctx, jobs.size());
  std::span<Part> parts = take_array<Part>(ctx, jobs.size());
  std::span<size_t> owner = take_array<size_t>(ctx, jobs.size());
  for (const DacDecoderJob& job : jobs) {
    expect_shape("dac decoder", job.latent, {job.latent.shape[0], config_.latent});
  }
  for (size_t first = 0; first < jobs.size();) {
    // As many pieces as a pass takes, from the first unfinished job on.
    int64_t frames = 0;
    size_t count = 0;
    for (size_t j = first; j < jobs.size() && frames < kPassFrames; ++j) {
      const int64_t left = jobs[j].latent.shape[0] - done[j];
      if (ended[j] || (left == 0 && !jobs[j].last)) continue;
      const int64_t n = std::min({left, kPieceFrames, kPassFrames - frames});
      parts[count] = {jobs[j].state, jobs[j].latent.slice(done[j], done[j] + n),
                      jobs[j].out.f32() + written[j], jobs[j].last && n == left};
      owner[count++] = j;
      ended[j] = jobs[j].last && n == left;
      done[j] += n;
      frames += std::max<int64_t>(n, 1);
    }
    if (count > 0) {
      std::span<int64_t> rows = take_array<int64_t>(ctx, count);
      run_pass(ctx, parts.first(count), rows);
      for (size_t p = 0; p < count; ++p) written[owner[p]] += rows[p];
    }
    while (first < jobs.size() && done[first] == jobs[first].latent.shape[0] &&
           (ended[first] || !jobs[first].last)) {
      SYRINX_CHECK(written[first] == jobs[first].out.count(), "dac decoder: ", written[first],
                   " samples for ", jobs[first].out.shape.str());
      ++first;
    }
  }
}

void DacDecoder::run_pass(StepContext& ctx, std::span<Part> parts,
                          std::span<int64_t> samples) const {
  Arena::Mark mark(ctx.arena);
  size_t conv = 0, delay = 0;
  Stack x{{}, take_array<int64_t>(ctx, parts.size())};
  int64_t total = 0;
  for (size_t p = 0; p < parts.size(); ++p) total += x.rows[p] = parts[p].latent.shape[0];
  x.x = take_f32(ctx, total, config_.latent);
  float* to = x.x.f32();
  for (const Part& part : parts) {
    to = std::copy_n(part.latent.f32(), part.latent.count(), to);
  }
  x = convolve(ctx, parts, head_, x, conv);
  if (!spread_.empty()) {
    const View wide = take_f32(ctx, x.x.shape[0], spread_.out());
    if (wide.shape[0] > 0) linear(ctx, spread_, x.x, wide);
    x.x = wide;
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    snake(ctx, x.x, block.act, x.x);
    x = convolve(ctx, parts, block.up, x, conv);
    if (!block.noise.empty()) add_noise(ctx, parts, block.noise, b, x);
    for (const ResidualUnit& unit : block.units) x = run_unit(ctx, parts, unit, x, conv, delay);
  }
  snake(ctx, x.x, tail_act_, x.x);
  x = convolve(ctx, parts, tail_, x, conv);
  if (x.x.shape[0] > 0) activate(ctx, Activation::kTanh, x.x, x.x);
  const float* from = x.x.f32();
  for (size_t p = 0; p < parts.size(); ++p) {
    if (x.rows[p] > 0) std::copy_n(from, x.rows[p], parts[p].out);
    from += x.rows[p];
    samples[p] = x.rows[p];
  }
}

void DacDecoder::snake(StepContext& ctx, const View& x, const Snake& act, const View& out) {
  if (x.shape[0] > 0) {
    syrinx::snake(ctx, x, act.alpha, act.inv_alpha, ChannelAxis::kLast, out);
  }
}

template <typename Conv>
DacDecoder::Stack DacDecoder::convolve(StepContext& ctx, std::span<const Part> parts,
                                       const Conv& layer, const Stack& in, size_t& conv) const {
  Stack out{{}, take_array<int64_t>(ctx, parts.size())};
  int64_t total = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    out.rows[p] = layer.rows(parts[p].state->convs_[conv], in.rows[p], parts[p].last);
    total += out.rows[p];
  }
  out.x = take_f32(ctx, total, layer.out());
  Arena::Mark mark(ctx.arena);
  std::span<ConvJob> jobs = take_array<ConvJob>(ctx, parts.size());
  int64_t from = 0, to = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    jobs[p] = {in.x.slice(from, from + in.rows[p]), &parts[p].state->convs_[conv],
               out.x.slice(to, to + out.rows[p]), parts[p].last};
    from += in.rows[p];
    to += out.rows[p];
  }
  layer.run(ctx, jobs);
  ++conv;
  return out;
}

void DacDecoder::noise(uint64_t seed, int block, int64_t begin, std::span<float> out) {
  float normals[kNoiseRows];
  for (size_t i = 0; i < out.size();) {
    const int64_t at = begin + static_cast<int64_t>(i), skip = at % kNoiseRows;
    const size_t n = std::min(out.size() - i, static_cast<size_t>(kNoiseRows - skip));
    philox_normal(seed, static_cast<uint32_t>(at / kNoiseRows),
                  kNoiseStream + static_cast<uint32_t>(block), std::span(normals).first(skip + n));
    std::copy_n(normals + skip, n, out.begin() + static_cast<int64_t>(i));
    i += n;
  }
}

void DacDecoder::add_noise(StepContext& ctx, std::span<const Part> parts, const PackedLinear& gain,
                           size_t block, const Stack& x) const {
  const int64_t total = x.x.shape[0], channels = x.x.shape[1];
  if (total == 0) return;
  Arena::Mark mark(ctx.arena);
  const View gains = take_f32(ctx, total, channels), normals = ctx.arena.take({total}, DType::kF32);
  linear(ctx, gain, x.x, gains);
  int64_t at = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    int64_t& position = parts[p].state->noise_at_[block];
    noise(parts[p].state->seed_, static_cast<int>(block), position,
          {normals.f32() + at, static_cast<size_t>(x.rows[p])});
    position += x.rows[p];
    at += x.rows[p];
  }
  float* to = x.x.f32();
  const float* by = gains.f32();
  const float* n = normals.f32();
  ctx.pool.parallel_for(total, 64, [=](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t c = t * channels; c < (t + 1) * channels; ++c) to[c] += n[t] * by[c];
    }
  });
}

/// x, as late as the unit's convolution makes its branch, plus the branch.
DacDecoder::Stack DacDecoder::run_unit(StepContext& ctx, std::span<const Part> parts,
                                       const ResidualUnit& unit, const Stack& in, size_t& conv,
                                       size_t& delay) const {
  const int64_t channels = in.x.shape[1];
  const View first = take_f32(ctx, in.x.shape[0], channels);
  snake(ctx, in.x, unit.act1, first);
  const Stack mixed = convolve(ctx, parts, unit.conv, {first, in.rows}, conv);
  snake(ctx, mixed.x, unit.act2, mixed.x);
  const View out = take_f32(ctx, mixed.x.shape[0], channels);
  const float* from = in.x.f32();
  float* to = out.f32();
  for (size_t p = 0; p < parts.size(); ++p) {
    ConvState& held = parts[p].state->delays_[delay];
    delay_rows(held, {from, static_cast<size_t>(in.rows[p] * channels)},
               {to, static_cast<size_t>(mixed.rows[p] * channels)});
    from += in.rows[p] * channels;
    to += mixed.rows[p] * channels;
  }
  ++delay;
  if (out.shape[0] > 0) linear_add(ctx, unit.mix, mixed.x, out);
  return {out, mixed.rows};
}

void DacDecoder::delay_rows(ConvState& held, std::span<const float> in, std::span<float> out) {
  const int64_t channels = held.past.shape()[1];
  const size_t old = static_cast<size_t>(held.held * channels);
  float* past = held.past.f32();
  const size_t from_past = std::min(out.size(), old), from_in = out.size() - from_past;
  std::copy_n(past, from_past, out.begin());
  std::copy_n(in.begin(), from_in, out.begin() + static_cast<int64_t>(from_past));
  const size_t kept = old - from_past, rest = in.size() - from_in;
  SYRINX_CHECK(kept + rest <= static_cast<size_t>(held.past.view().count()),
               "dac decoder: a delay of ", held.past.shape().str());
  std::memmove(past, past + from_past, kept * sizeof(float));
  std::copy_n(in.begin() + static_cast<int64_t>(from_in), rest, past + kept);
  held.held = static_cast<int64_t>(kept + rest) / channels;
}

}  // namespace syrinx
