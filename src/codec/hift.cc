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

void Hift::run(StepContext& ctx, std::span<const HiftJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  const int64_t most = device() == Device::kCpu ? kFilterFrames : kGpuFrames;
  const std::span<Part> all = take_array<Part>(ctx, std::ssize(jobs));
  const std::span<Part> parts = take_array<Part>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    expect_shape("hift mel", jobs[i].mel, {jobs[i].mel.shape[0], config_.mel});
    all[i] = {&jobs[i], jobs[i].mel, jobs[i].last};
  }
  const auto done = [](const Part& part) { return part.mel.shape[0] == 0 && !part.last; };
  for (size_t first = 0; first < all.size();) {
    // A pass takes as many frames as its limit allows, beginning with the first unfinished job.
    size_t count = 0;
    int64_t frames = 0;
    for (size_t i = first; i < all.size() && frames < most; ++i) {
      Part& left = all[i];
      if (done(left)) continue;
      const int64_t rest = left.mel.shape[0], n = std::min(rest, most - frames);
      parts[count++] = {left.job, left.mel.slice(0, n), left.last && n == rest};
      left.mel = left.mel.slice(n, rest);
      left.last = left.last && n < rest;
      frames += std::max<int64_t>(n, 1);
    }
    if (count > 0) run_pass(ctx, parts.first(count));
    while (first < all.size() && done(all[first])) ++first;
  }
}

void Hift::run_pass(StepContext& ctx, Parts all) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<Part> some = take_array<Part>(ctx, std::ssize(all));
  size_t count = 0;
  for (const Part& part : all) {
    excite(ctx, part);
    const bool empty = part.last && part.state().source_.frames == 0;  // an empty stream
    if (!empty) some[count++] = part;
  }
  const Parts parts = some.first(count);
  if (parts.empty()) return;
  const RowStack spectrum = analyse(ctx, parts);
  const std::span<int64_t> frames = take_array<int64_t>(ctx, std::ssize(parts));
  int64_t total = 0, at = 0;
  for (size_t i = 0; i < count; ++i) total += frames[i] = parts[i].mel.shape[0];
  const View mel = ctx.host.take({total, config_.mel}, DType::kF32);
  for (const Part& part : parts) {
    std::copy_n(part.mel.f32(), part.mel.count(), mel.f32() + at);
    at += part.mel.count();
  }
  RowStack x = convolve(ctx, parts, first_, {upload(ctx, mel), frames},
                        [](HiftState& s) -> ConvState& { return s.first_; });
  for (size_t i = 0; i < stages_.size(); ++i) x = run_stage(ctx, parts, i, x, spectrum);
  leaky_relu(ctx, x.x, kLastLeak, x.x);
  x = convolve(ctx, parts, last_, x, [](HiftState& s) -> ConvState& { return s.last_; });
  if (ctx.device != Device::kCpu) {
    const View host = ctx.host.take(x.x.shape, DType::kF32);
    fetch(ctx, x.x, {host.f32(), static_cast<size_t>(host.count())});
    synchronize(ctx);
    x.x = host;
  }
  const std::span<View> made = views_of(ctx, x);
  for (size_t i = 0; i < count; ++i) synthesise(ctx, parts[i], made[i]);
}

template <typename Conv, typename StateOf>
RowStack Hift::convolve(StepContext& ctx, Parts parts, const Conv& conv, const RowStack& x,
                        const StateOf& state_of) const {
  const std::span<ConvJob> jobs = take_array<ConvJob>(ctx, std::ssize(parts));
  const std::span<View> rows = views_of(ctx, x);
  for (size_t i = 0; i < jobs.size(); ++i)
    jobs[i] = {rows[i], &state_of(parts[i].state()), {}, parts[i].last};
  return convolve_stack(ctx, conv, jobs);
}

/// Computes pitch and excitation for a mel, and appends the excitation to that of the state.
void Hift::excite(StepContext& step, const Part& part) const {
  StepContext ctx(step.pool, step.host);
  const Arena::Mark mark(ctx.arena);
  HiftState& state = part.state();
  View x = part.mel;
  for (size_t i = 0; i < pitch_.size(); ++i) {
    x = convolve_rows(ctx, pitch_[i], x, part.last, state.pitch_[i]);
    activate(ctx, Activation::kElu, x, x);
  }
  const View f0 = take_rows(ctx, x.shape[0], 1);
  linear(ctx, pitch_out_, x, f0);
  const std::span<float> pitch(f0.f32(), static_cast<size_t>(f0.count()));
  for (float& value : pitch) value = std::abs(value);
  source_.run(pitch, part.last, part.job->noise, state.source_, state.excitation_);
}

/// Returns the fresh excitation in ctx.host, mirrored at both ends of the stream.
std::span<const float> Hift::mirrored_source(StepContext& ctx, const Part& part) const {
  HiftState& state = part.state();
  std::vector<float>& s = state.excitation_;
  const int64_t half = config_.n_fft / 2, have = static_cast<int64_t>(s.size());
  // Mirroring the beginning needs the next half window, mirroring the end the previous one.
  if (!state.analysing_ && have <= half) return {};
  const int64_t before = state.analysing_ ? 0 : half, after = part.last ? half : 0;
  const std::span<float> x = take_array<float>(ctx, before + have - state.excited_ + after);
  auto to = x.begin();
  for (int64_t i = 0; i < before; ++i) *to++ = s[static_cast<size_t>(half - i)];
  to = std::copy(s.begin() + state.excited_, s.end(), to);
  for (int64_t i = 0; i < after; ++i) *to++ = s[static_cast<size_t>(have - 2 - i)];
  state.analysing_ = true;
  const int64_t keep = std::min(have, half + 1);
  s.erase(s.begin(), s.end() - keep);
  state.excited_ = keep;
  return x;
}

/// Computes the centered STFT of the excitations. Returns [rows, n_fft + 2].
RowStack Hift::analyse(StepContext& ctx, Parts parts) const {
  const std::span<std::span<const float>> sources =
      take_array<std::span<const float>>(ctx, std::ssize(parts));
  const std::span<int64_t> rows = take_array<int64_t>(ctx, std::ssize(parts));
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    sources[i] = mirrored_source(ctx, parts[i]);
    total += rows[i] = std::ssize(sources[i]);
  }
  const View all = ctx.host.take({total, 1}, DType::kF32);
  float* to = all.f32();
  for (const std::span<const float> source : sources) to = std::ranges::copy(source, to).out;
  const std::span<ConvJob> jobs = take_array<ConvJob>(ctx, std::ssize(parts));
  const std::span<View> views = views_of(ctx, {upload(ctx, all), rows});
  // Without padding: whole windows only.
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i] = {views[i], &parts[i].state().stft_, {}, false};
  return convolve_stack(ctx, stft_, jobs);
}

template <typename StateOf>
RowStack Hift::run_block(StepContext& ctx, Parts parts, const Block& block, const RowStack& input,
                         const StateOf& state_of) const {
  const std::span<QueueSum> residuals = take_array<QueueSum>(ctx, std::ssize(parts));
  const auto bend = [&](const RowStack& x, size_t i, const View& out) {
    snake(ctx, x.x, block.acts[i].alpha, block.acts[i].inv_alpha, ChannelAxis::kLast, out);
  };
  const auto conv = [&](const RowStack& x, size_t i) {
    return convolve(ctx, parts, block.convs[i], x,
                    [&](HiftState& s) -> ConvState& { return state_of(s).convs[i]; });
  };
  RowStack x = input;
  for (size_t i = 0; i < block.convs.size(); i += 2) {
    RowStack y{take_rows(ctx, x.x.shape[0], x.x.shape[1]), x.rows};
    bend(x, i, y.x);
    y = conv(y, i);
    bend(y, i + 1, y.x);
    y = conv(y, i + 1);
    const std::span<View> fresh = views_of(ctx, x), sums = views_of(ctx, y);
    for (size_t p = 0; p < parts.size(); ++p)
      residuals[p] = {&state_of(parts[p].state()).waiting[i / 2], fresh[p], sums[p]};
    add_oldest(ctx, residuals);
    x = y;
  }
  return x;
}

/// Adds a row at the front of each stream that equals the second row, as torch's
/// ReflectionPad1d((1, 0)).
RowStack Hift::mirror(StepContext& ctx, Parts parts, const RowStack& x) const {
  const auto ready = [](const Part& part) { return part.state().mirror_done_; };
  if (std::ranges::all_of(parts, ready)) return x;
  const int64_t width = x.x.shape[1];
  const std::span<View> views = views_of(ctx, x);
  const std::span<int64_t> rows = take_array<int64_t>(ctx, std::ssize(parts));
  const std::span<bool> begins = take_array<bool>(ctx, std::ssize(parts));
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    HiftState& state = parts[i].state();
    if (!state.mirror_done_) {
      state.mirrored_.push(ctx, views[i]);
      const int64_t held = state.mirrored_.rows();
      begins[i] = state.mirror_done_ = held >= 2;
      views[i] = begins[i] ? state.mirrored_.pop(ctx, held) : take_rows(ctx, 0, width);
    }
    total += rows[i] = views[i].shape[0] + (begins[i] ? 1 : 0);
  }
  const RowStack out{take_rows(ctx, total, width), rows};
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, 2 * std::ssize(parts));
  size_t used = 0;
  float* to = out.x.f32();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (begins[i]) copies[used++] = {views[i].f32() + width, to, width};
    if (begins[i]) to += width;
    copies[used++] = {views[i].f32(), to, views[i].count()};
    to += views[i].count();
  }
  copy_spans(ctx, copies.first(used));
  return out;
}

RowStack Hift::run_stage(StepContext& ctx, Parts parts, size_t index, const RowStack& input,
                         const RowStack& spectrum) const {
  const Stage& stage = stages_[index];
  const auto of = [&](size_t part) -> HiftState::Stage& {
    return parts[part].state().stages_[index];
  };
  leaky_relu(ctx, input.x, config_.leak, input.x);
  RowStack x = convolve(ctx, parts, stage.up, input,
                        [&](HiftState& s) -> ConvState& { return s.stages_[index].up; });
  if (index + 1 == stages_.size()) x = mirror(ctx, parts, x);
  const RowStack down = convolve(ctx, parts, stage.down, spectrum,
                                 [&](HiftState& s) -> ConvState& { return s.stages_[index].down; });
  const RowStack source =
      run_block(ctx, parts, stage.source, down,
                [&](HiftState& s) -> HiftState::Block& { return s.stages_[index].source; });

  const int64_t width = stage.up.out();
  const std::span<QueueSum> moves = take_array<QueueSum>(ctx, std::ssize(parts));
  const std::span<View> up_rows = views_of(ctx, x), source_rows = views_of(ctx, source);
  // Rows leave queues together: the oldest rows that are known of each stream.
  const auto leave = [&](std::span<const int64_t> rows) {
    int64_t total = 0;
    for (const int64_t count : rows) total += count;
    return RowStack{take_rows(ctx, total, width), rows};
  };
  const std::span<int64_t> rows = take_array<int64_t>(ctx, std::ssize(parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t up = of(i).up_rows.rows() + up_rows[i].shape[0];
    const int64_t other = of(i).source_rows.rows() + source_rows[i].shape[0];
    SYRINX_CHECK(!parts[i].last || up == other, "[hift] ", up, " rows, but the source has ", other);
    rows[i] = std::min(up, other);
  }
  x = leave(rows);
  const std::span<View> sums = views_of(ctx, x);
  for (size_t i = 0; i < parts.size(); ++i) moves[i] = {&of(i).up_rows, up_rows[i], sums[i]};
  copy_oldest(ctx, moves);
  for (size_t i = 0; i < parts.size(); ++i)
    moves[i] = {&of(i).source_rows, source_rows[i], sums[i]};
  add_oldest(ctx, moves);

  const View none = take_rows(ctx, 0, width);
  for (size_t b = 0; b < stage.blocks.size(); ++b) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const std::span<View> made = views_of(
        ctx, run_block(ctx, parts, stage.blocks[b], x, [&](HiftState& s) -> HiftState::Block& {
          return s.stages_[index].blocks[b];
        }));
    for (size_t i = 0; i < parts.size(); ++i) moves[i] = {&of(i).block_rows[b], made[i], none};
    add_oldest(ctx, moves);
  }
  const std::span<int64_t> ready = take_array<int64_t>(ctx, std::ssize(parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto slowest = std::ranges::min_element(of(i).block_rows, {}, &RowQueue::rows);
    ready[i] = slowest->rows();
  }
  const RowStack sum = leave(ready);
  const std::span<View> all = views_of(ctx, sum);
  for (size_t b = 0; b < stage.blocks.size(); ++b) {
    for (size_t i = 0; i < parts.size(); ++i) moves[i] = {&of(i).block_rows[b], none, all[i]};
    b == 0 ? copy_oldest(ctx, moves) : add_oldest(ctx, moves);
  }
  scale_inplace(ctx, sum.x, 1.f / static_cast<float>(stage.blocks.size()));
  return sum;
}

/// Converts magnitudes and phases [rows, n_fft + 2] in host memory to samples, and appends them to
/// the job's output.
void Hift::synthesise(StepContext& step, const Part& part, const View& x) const {
  HiftState& state = part.state();
  std::vector<float>& out = *part.job->out;
  const bool last = part.last;
  const int64_t rows = x.shape[0], bins = istft_.fft().bins(), hop = istft_.hop();
  StepContext ctx(step.pool, step.host);
  const Arena::Mark mark(ctx.arena);
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
