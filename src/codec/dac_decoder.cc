#include "codec/dac_decoder.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/sample.h"
#include "nn/layers.h"

namespace syrinx {
namespace {

constexpr int64_t kPieceFrames = 8;    // frames of one stream in a pass
constexpr int64_t kPassFrames = 8;     // frames of all streams in a pass; limits the scratch memory
constexpr int64_t kNoiseRows = 256;    // rows of noise made from one value of Philox's counter
constexpr uint32_t kNoiseStream = 64;  // block b takes its noise from random stream 64 + b

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
      state.delays_.emplace_back(unit.conv.ahead(), unit.conv.in(), 0, unit.conv.device());
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
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto most = std::ssize(jobs);
  std::span<int64_t> done = take_array<int64_t>(ctx, most);
  std::span<int64_t> written = take_array<int64_t>(ctx, most);
  std::span<bool> ended = take_array<bool>(ctx, most);
  std::span<Part> parts = take_array<Part>(ctx, most);
  std::span<size_t> owner = take_array<size_t>(ctx, most);
  for (const DacDecoderJob& job : jobs) {
    expect_shape("dac decoder", job.latent, {job.latent.shape[0], config_.latent});
  }
  for (size_t first = 0; first < jobs.size();) {
    // A pass takes as many pieces as its limit allows, beginning with the first unfinished job.
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
      std::span<int64_t> rows = take_array<int64_t>(ctx, static_cast<int64_t>(count));
      run_pass(ctx, parts.first(count), rows);
      for (size_t p = 0; p < count; ++p) written[owner[p]] += rows[p];
    }
    while (first < jobs.size() && done[first] == jobs[first].latent.shape[0] &&
           (ended[first] || !jobs[first].last)) {
      SYRINX_CHECK(written[first] == jobs[first].out.count(), "[dac_decoder] ", written[first],
                   " samples, but `out` is ", jobs[first].out.shape.str());
      ++first;
    }
  }
}

void DacDecoder::run_pass(StepContext& ctx, std::span<Part> parts,
                          std::span<int64_t> samples) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  size_t conv = 0, delay = 0;
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, std::ssize(parts));
  Stack x{{}, take_array<int64_t>(ctx, std::ssize(parts))};
  int64_t total = 0;
  for (size_t p = 0; p < parts.size(); ++p) total += x.rows[p] = parts[p].latent.shape[0];
  x.x = take_f32(ctx, total, config_.latent);
  float* to = x.x.f32();
  for (size_t p = 0; p < parts.size(); ++p) {
    copies[p] = {parts[p].latent.f32(), to, parts[p].latent.count()};
    to += copies[p].count;
  }
  copy_spans(ctx, copies);
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
  if (config_.bounded && x.x.shape[0] > 0) activate(ctx, Activation::kTanh, x.x, x.x);
  const float* from = x.x.f32();
  for (size_t p = 0; p < parts.size(); ++p) {
    copies[p] = {from, parts[p].out, x.rows[p]};
    from += x.rows[p];
    samples[p] = x.rows[p];
  }
  copy_spans(ctx, copies);
}

void DacDecoder::snake(StepContext& ctx, const View& x, const Snake& act, const View& out) {
  if (x.shape[0] > 0) {
    syrinx::snake(ctx, x, act.alpha, act.inv_alpha, ChannelAxis::kLast, out);
  }
}

template <typename Conv>
DacDecoder::Stack DacDecoder::convolve(StepContext& ctx, std::span<const Part> parts,
                                       const Conv& layer, const Stack& in, size_t& conv) const {
  Stack out{{}, take_array<int64_t>(ctx, std::ssize(parts))};
  int64_t total = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    out.rows[p] = layer.rows(parts[p].state->convs_[conv], in.rows[p], parts[p].last);
    total += out.rows[p];
  }
  out.x = take_f32(ctx, total, layer.out());
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  std::span<ConvJob> jobs = take_array<ConvJob>(ctx, std::ssize(parts));
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
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View gains = take_f32(ctx, total, channels), normals = ctx.host.take({total}, DType::kF32);
  linear(ctx, gain, x.x, gains);
  int64_t at = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    int64_t& position = parts[p].state->noise_at_[block];
    noise(parts[p].state->seed_, static_cast<int>(block), position,
          {normals.f32() + at, static_cast<size_t>(x.rows[p])});
    position += x.rows[p];
    at += x.rows[p];
  }
  add_rows_scaled(ctx, x.x, gains, upload(ctx, normals));
}

/// Runs a unit. Delays the unit's input as the unit's convolution does, before adding both.
DacDecoder::Stack DacDecoder::run_unit(StepContext& ctx, std::span<const Part> parts,
                                       const ResidualUnit& unit, const Stack& in, size_t& conv,
                                       size_t& delay) const {
  const int64_t channels = in.x.shape[1];
  const View first = take_f32(ctx, in.x.shape[0], channels);
  snake(ctx, in.x, unit.act1, first);
  const Stack mixed = convolve(ctx, parts, unit.conv, {first, in.rows}, conv);
  snake(ctx, mixed.x, unit.act2, mixed.x);
  const View out = take_f32(ctx, mixed.x.shape[0], channels);
  delay_rows(ctx, parts, delay++, in, {out, mixed.rows});
  if (out.shape[0] > 0) linear_add(ctx, unit.mix, mixed.x, out);
  return {out, mixed.rows};
}

void DacDecoder::delay_rows(StepContext& ctx, std::span<const Part> parts, size_t delay,
                            const Stack& in, const Stack& out) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t channels = in.x.shape[1];
  std::span<CopySpan> first = take_array<CopySpan>(ctx, 3 * std::ssize(parts));
  std::span<CopySpan> second = take_array<CopySpan>(ctx, 2 * std::ssize(parts));
  const float* from = in.x.f32();
  float* to = out.x.f32();
  for (size_t p = 0; p < parts.size(); ++p) {
    ConvState& held = parts[p].state->delays_[delay];
    float* past = held.past.f32();
    const int64_t old = held.held * channels, fresh = in.rows[p] * channels;
    const int64_t wanted = out.rows[p] * channels;
    const int64_t from_past = std::min(wanted, old), from_in = wanted - from_past;
    const int64_t kept = old - from_past, rest = fresh - from_in;
    SYRINX_CHECK(kept + rest <= held.past.view().count(),
                 "[dac_decoder] too many rows for a delay of ", held.past.shape().str());
    // The remaining rows are moved to the front of `past` through scratch memory, because source
    // and target may overlap.
    float* moved = kept > 0 ? take_f32(ctx, kept, 1).f32() : nullptr;
    first[3 * p] = {past, to, from_past};
    first[3 * p + 1] = {from, to + from_past, from_in};
    first[3 * p + 2] = {past + from_past, moved, kept};
    second[2 * p] = {moved, past, kept};
    second[2 * p + 1] = {from + from_in, past + kept, rest};
    held.held = (kept + rest) / channels;
    from += fresh;
    to += wanted;
  }
  copy_spans(ctx, first);
  copy_spans(ctx, second);
}

void DacDecoder::move_to(Device device) {
  const auto move_snake = [&](Snake& act) { syrinx::move_to(device, act.alpha, act.inv_alpha); };
  syrinx::move_to(device, head_, tail_, spread_);
  move_snake(tail_act_);
  for (Block& block : blocks_) {
    move_snake(block.act);
    syrinx::move_to(device, block.up, block.noise);
    for (ResidualUnit& unit : block.units) {
      move_snake(unit.act1);
      move_snake(unit.act2);
      syrinx::move_to(device, unit.conv, unit.mix);
    }
  }
}

}  // namespace syrinx
