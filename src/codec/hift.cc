#include "codec/hift.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

// Frames per pass; limits the scratch (~100 KB a frame). On a GPU, a pass has some 450 launches.
constexpr int64_t kFilterFrames = 32, kGpuFrames = 256;
constexpr float kLastLeak = 0.01f;  // torch's default slope, used before the last convolution
constexpr float kMostMagnitude = 1e2f;

}  // namespace

void Hift::run(StepContext& ctx, const View& mel, bool last, const HiftNoise& noise,
               HiftState& state, std::vector<float>& out) const {
  const int64_t frames = mel.shape[0];
  expect_shape("hift mel", mel, {frames, config_.mel});
  const int64_t most = device() == Device::kCpu ? kFilterFrames : kGpuFrames;
  int64_t begin = 0;
  do {
    const int64_t end = std::min(begin + most, frames);
    Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    run_piece(ctx, mel.slice(begin, end), last && end == frames, noise, state, out);
    begin = end;
  } while (begin < frames);
}

void Hift::run_piece(StepContext& ctx, const View& mel, bool last, const HiftNoise& noise,
                     HiftState& state, std::vector<float>& out) const {
  StepContext cpu(ctx.pool, ctx.host);
  excite(cpu, mel, last, noise, state);
  if (last && state.source_.frames == 0) return;  // the stream is empty
  const View spectrum = analyse(ctx, last, state);
  View x = convolve_rows(ctx, first_, upload(ctx, mel), last, state.first_);
  for (size_t i = 0; i < stages_.size(); ++i) x = run_stage(ctx, i, x, spectrum, last, state);
  leaky_relu(ctx, x, kLastLeak, x);
  synthesise(ctx, convolve_rows(ctx, last_, x, last, state.last_), last, state, out);
}

/// Computes pitch and excitation for a mel, and appends the excitation to that of `state`.
void Hift::excite(StepContext& ctx, const View& mel, bool last, const HiftNoise& noise,
                  HiftState& state) const {
  Arena::Mark mark(ctx.arena);
  View x = mel;
  for (size_t i = 0; i < pitch_.size(); ++i) {
    x = convolve_rows(ctx, pitch_[i], x, last, state.pitch_[i]);
    activate(ctx, Activation::kElu, x, x);
  }
  const View f0 = take_rows(ctx, x.shape[0], 1);
  linear(ctx, pitch_out_, x, f0);
  const std::span<float> pitch(f0.f32(), static_cast<size_t>(f0.count()));
  for (float& value : pitch) value = std::abs(value);
  source_.run(pitch, last, noise, state.source_, state.excitation_);
}

/// Computes the centered STFT of the excitation, mirrored at both ends of the stream. Returns
/// [rows, n_fft + 2].
View Hift::analyse(StepContext& ctx, bool last, HiftState& state) const {
  std::vector<float>& s = state.excitation_;
  const int64_t half = config_.n_fft / 2, have = static_cast<int64_t>(s.size());
  // Mirroring the beginning needs the next half window, mirroring the end the previous one.
  if (!state.analysing_ && have <= half) return take_rows(ctx, 0, 2 * (half + 1));
  const int64_t before = state.analysing_ ? 0 : half, after = last ? half : 0;
  const int64_t fresh = have - state.excited_;
  StepContext cpu(ctx.pool, ctx.host);
  const View x = take_rows(cpu, before + fresh + after, 1);
  float* to = x.f32();
  for (int64_t i = 0; i < before; ++i) *to++ = s[static_cast<size_t>(half - i)];
  to = std::copy(s.begin() + state.excited_, s.end(), to);
  for (int64_t i = 0; i < after; ++i) *to++ = s[static_cast<size_t>(have - 2 - i)];
  state.analysing_ = true;
  const int64_t keep = std::min(have, half + 1);
  s.erase(s.begin(), s.end() - keep);
  state.excited_ = keep;
  // Without padding: whole windows only.
  return convolve_rows(ctx, stft_, upload(ctx, x), false, state.stft_);
}

View Hift::run_block(StepContext& ctx, const Block& block, const View& input, bool last,
                     HiftState::Block& state) const {
  View x = input;
  for (size_t i = 0; i < block.convs.size(); i += 2) {
    View y = take_rows(ctx, x.shape[0], x.shape[1]);
    snake(ctx, x, block.acts[i].alpha, block.acts[i].inv_alpha, ChannelAxis::kLast, y);
    y = convolve_rows(ctx, block.convs[i], y, last, state.convs[i]);
    snake(ctx, y, block.acts[i + 1].alpha, block.acts[i + 1].inv_alpha, ChannelAxis::kLast, y);
    y = convolve_rows(ctx, block.convs[i + 1], y, last, state.convs[i + 1]);
    const QueueSum residual{&state.waiting[i / 2], x, y};
    add_oldest(ctx, {&residual, 1});
    x = y;
  }
  return x;
}

/// Adds a row at the front that equals the second row, as torch's ReflectionPad1d((1, 0)).
View Hift::mirror(StepContext& ctx, const View& x, HiftState& state) const {
  if (state.mirror_done_) return x;
  state.mirrored_.push(ctx, x);
  const int64_t rows = state.mirrored_.rows(), width = x.shape[1];
  if (rows < 2) return take_rows(ctx, 0, width);
  const View out = take_rows(ctx, rows + 1, width);
  const View all = state.mirrored_.pop(ctx, rows);
  copy(ctx, all.slice(1, 2), out.slice(0, 1));
  copy(ctx, all, out.slice(1, rows + 1));
  state.mirror_done_ = true;
  return out;
}

View Hift::run_stage(StepContext& ctx, size_t index, const View& input, const View& spectrum,
                     bool last, HiftState& state) const {
  const Stage& stage = stages_[index];
  HiftState::Stage& s = state.stages_[index];
  leaky_relu(ctx, input, config_.leak, input);
  View x = convolve_rows(ctx, stage.up, input, last, s.up);
  if (index + 1 == stages_.size()) x = mirror(ctx, x, state);
  const View source = run_block(
      ctx, stage.source, convolve_rows(ctx, stage.down, spectrum, last, s.down), last, s.source);
  s.up_rows.push(ctx, x);
  s.source_rows.push(ctx, source);
  const int64_t rows = std::min(s.up_rows.rows(), s.source_rows.rows());
  SYRINX_CHECK(!last || s.up_rows.rows() == s.source_rows.rows(), "[hift] ", s.up_rows.rows(),
               " rows, but the source has ", s.source_rows.rows());
  x = s.up_rows.pop(ctx, rows);
  s.source_rows.pop_into_sum(ctx, x);
  int64_t ready = INT64_MAX;
  for (size_t b = 0; b < stage.blocks.size(); ++b) {
    Arena::Mark mark(ctx.arena);
    s.block_rows[b].push(ctx, run_block(ctx, stage.blocks[b], x, last, s.blocks[b]));
    ready = std::min(ready, s.block_rows[b].rows());
  }
  const View sum = s.block_rows[0].pop(ctx, ready);
  for (size_t b = 1; b < s.block_rows.size(); ++b) s.block_rows[b].pop_into_sum(ctx, sum);
  scale_inplace(ctx, sum, 1.f / static_cast<float>(stage.blocks.size()));
  return sum;
}

/// Converts magnitudes and phases [rows, n_fft + 2] to samples, and appends them to `out`.
void Hift::synthesise(StepContext& step, const View& made, bool last, HiftState& state,
                      std::vector<float>& out) const {
  const int64_t rows = made.shape[0], bins = istft_.fft().bins(), hop = istft_.hop();
  StepContext ctx(step.pool, step.host);
  View x = made;
  if (step.device == Device::kCuda) {
    x = take_rows(ctx, rows, 2 * bins);
    fetch(step, made, {x.f32(), static_cast<size_t>(x.count())});
    synchronize(step);
  }
  const View memory = take_rows(ctx, rows * bins + istft_.scratch_size(), 2);
  auto* spectrum = reinterpret_cast<std::complex<float>*>(memory.f32());
  ctx.pool.parallel_for(rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * bins; i < end * bins; ++i) {
      const float* row = x.f32() + i / bins * 2 * bins;
      const float magnitude = std::min(std::exp(row[i % bins]), kMostMagnitude);
      const float phase = std::sin(row[bins + i % bins]);
      spectrum[i] = {magnitude * std::cos(phase), magnitude * std::sin(phase)};
    }
  });
  // The inverse STFT returns the samples from half a window before a frame's centre on. At the end
  // of the stream, the samples up to half a window after the last centre follow.
  const int64_t tail = last ? istft_.n_fft() - hop : 0;
  const View samples = take_rows(ctx, rows * hop + tail, 1);
  istft_.push(spectrum, rows, state.overlap_.data(), samples.f32(), spectrum + rows * bins);
  int64_t count = rows * hop;
  if (last) {
    istft_.flush(state.overlap_.data(), samples.f32() + count);
    count += istft_.n_fft() / 2 - hop;
  }
  const int64_t skip = std::min(state.trim_, count);
  state.trim_ -= skip;
  for (int64_t i = skip; i < count; ++i) {
    out.push_back(std::clamp(samples.f32()[i], -config_.limit, config_.limit));
  }
}

}  // namespace syrinx
