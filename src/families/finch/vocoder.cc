#include "families/finch/vocoder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "families/finch/phone_stream.h"
#include "families/finch/state.h"
#include "kernels/activation.h"

namespace syrinx::finch {
namespace {

constexpr float kNormEps = 1e-6f;
constexpr int kNeighbours = 3;  // frames that the first layer reads: previous, current, next
constexpr float kMinLogPitch = 4.2f, kMaxLogPitch = 5.95f;  // ln Hz: 67 and 384 Hz

/// Change of the logarithms of pitch and gain per cent of lift. The gain changes by 6 dB for 3
/// semitones.
constexpr float kPitchOfCent = 5.7762265e-4f, kGainOfCent = 2.3025851e-3f;

/// Returns the lift, in cents, at step s of new frame t, interpolated between the middles of
/// frames.
float lift_of(const ChunkJob& job, int t, int s) {
  const auto of_frame = [&](int at) {
    const bool inside = at >= 0 && at < job.left + job.fresh + job.ahead;
    const int32_t lift =
        inside ? job.codes[static_cast<size_t>(at) * kFrameWidth + kFrameCodes] : 0;
    SYRINX_CHECK(lift >= 0 && lift <= kMaxLift, "[finch] invalid accent ", lift);
    return static_cast<float>(lift);
  };
  const float from_middle = (static_cast<float>(s) + 0.5f) / kStepsPerFrame - 0.5f;
  const float here = of_frame(job.left + t);
  const float beside = of_frame(job.left + t + (from_middle < 0 ? -1 : 1));
  return here + (beside - here) * std::abs(from_middle);
}

int64_t fresh_frames(std::span<const ChunkJob> jobs) {
  int64_t sum = 0;
  for (const ChunkJob& job : jobs) sum += job.fresh;
  return sum;
}

}  // namespace

ResidualConv::ResidualConv(const Weights& weights, int width, int ffn, int taps, WeightType type)
    : norm_(weights.scope("norm"), width, kNormEps),
      up_(load_linear(weights, "up", ffn, width, true, type)),
      down_(load_linear(weights, "down", width, ffn, true, type)) {
  CausalConv1dOptions options;
  options.groups = width;
  conv_ = CausalConv1d(weights.take("conv.weight", {width, 1, taps}),
                       weights.take("conv.bias", {width}), options);
}

void ResidualConv::run(StepContext& ctx, const View& x, std::span<const int64_t> rows,
                       std::span<ConvState* const> states) const {
  const Arena::Mark mark(ctx.arena);
  const View mixed = ctx.arena.take(x.shape, DType::kF32);
  const View inner = ctx.arena.take({x.shape[0], up_.out()}, DType::kF32);
  int64_t at = 0;
  for (size_t j = 0; j < rows.size(); ++j) {
    conv_.run(ctx, x.slice(at, at + rows[j]), *states[j], mixed.slice(at, at + rows[j]));
    at += rows[j];
  }
  norm_(ctx, mixed, mixed);
  linear(ctx, up_, mixed, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear_add(ctx, down_, inner, x);
}

struct Vocoder::Stream : StreamState {
  std::vector<ConvState> low, high;
  SourceState source;
  std::vector<float> add_low, add_high;  // vectors that the speaker adds (Manner)
  float pitch_mean = 0;
};

Vocoder::Vocoder(const FinchConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      norm_(weights.scope("norm"), config.high_width, kNormEps),
      source_(SourceShape(config.sample_rate)) {
  const auto symbols = static_cast<int64_t>(phone_names().size());
  for (int k = 0; k < kBooks; ++k) {
    books_.push_back(weights.f32("book." + std::to_string(k), {config.codes, config.latent}));
  }
  for (int i = 0; i < kFrameCodes - kBooks; ++i) {
    phones_.push_back(
        weights.f32("phone." + std::to_string(i) + ".weight", {symbols, config.latent}));
  }
  inp_ = load_linear(weights, "inp", config.low_width, int64_t{kNeighbours} * 2 * config.latent,
                     true, type);
  for (int i = 0; i < config.low_layers; ++i) {
    low_.emplace_back(weights.scope("low", i), config.low_width, config.low_ffn, config.low_taps,
                      type);
  }
  up_ = load_linear(weights, "up", int64_t{kStepsPerFrame} * config.high_width, config.low_width,
                    true, type);
  for (int i = 0; i < config.high_layers; ++i) {
    high_.emplace_back(weights.scope("high", i), config.high_width, config.high_ffn,
                       config.high_taps, type);
  }
  tone_ = load_linear(weights, "tone", 2, config.high_width, true, WeightType::kF32);
  head_ = load_linear(weights, "head", int64_t{3} * source_.shape().bins(), config.high_width, true,
                      type);
}

Bundle Vocoder::bundle(const Sequence& sequence) const {
  const Manner& manner = *static_cast<const FinchState&>(sequence).manner();
  Bundle bundle;
  bundle.set("low", manner.low);
  bundle.set("high", manner.high);
  bundle.set("pitch and gain", std::vector<float>{manner.pitch_mean, manner.gain});
  return bundle;
}

std::unique_ptr<StreamState> Vocoder::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  stream->add_low = bundle.floats("low", config_.low_width);
  stream->add_high = bundle.floats("high", config_.high_width);
  const std::vector<float> tone = bundle.floats("pitch and gain", 2);
  stream->pitch_mean = tone[0];
  stream->source.gain = tone[1];
  for (const ResidualConv& block : low_) stream->low.push_back(block.open());
  for (const ResidualConv& block : high_) stream->high.push_back(block.open());
  return stream;
}

void Vocoder::features(const int32_t* frame, float* out) const {
  const int width = config_.latent;
  for (int k = 0; k < kFrameCodes; ++k) {
    const int64_t codes = (k < kBooks ? books_[k] : phones_[k - kBooks]).view().shape[0];
    SYRINX_CHECK(frame[k] >= 0 && frame[k] < codes, "[finch] bad code ", frame[k], " of ", codes);
  }
  for (int i = 0; i < width; ++i) {
    float sum = 0;
    for (int k = 0; k < kBooks; ++k) sum += books_[k].f32()[int64_t{frame[k]} * width + i];
    out[i] = sum;
    sum = 0;
    for (int k = kBooks; k < kFrameCodes; ++k) {
      sum += phones_[k - kBooks].f32()[int64_t{frame[k]} * width + i];
    }
    out[width + i] = sum;
  }
}

void Vocoder::gather(const ChunkJob& job, float* features_out, float* out) const {
  const int64_t width = 2 * int64_t{config_.latent};
  const int window = job.left + job.fresh + job.ahead;
  for (int t = 0; t < window; ++t) {
    features(&job.codes[static_cast<size_t>(t) * kFrameWidth], features_out + t * width);
  }
  // After the end, a frame has zeros instead of a latent, and symbol 0 in all three places.
  float* past_end = features_out + window * width;
  std::fill(past_end, past_end + width, 0.f);
  for (const Tensor& table : phones_) {
    for (int i = 0; i < config_.latent; ++i) past_end[config_.latent + i] += table.f32()[i];
  }
  for (int t = 0; t < job.fresh; ++t) {
    for (int n = 0; n < kNeighbours; ++n, out += width) {
      const int at = job.left + t + n - 1;
      if (at < 0) {
        std::fill(out, out + width, 0.f);
      } else {
        std::copy_n(features_out + std::min(at, window) * width, width, out);
      }
    }
  }
}

/// Adds the vector of each job's speaker to x [N, width]. A frame has `steps` rows of x.
void Vocoder::add_rows(std::span<const ChunkJob> jobs, std::vector<float> Stream::*row, int steps,
                       const View& x) {
  float* value = x.f32();
  for (const ChunkJob& job : jobs) {
    const std::vector<float>& added = static_cast<const Stream*>(job.state)->*row;
    for (int i = 0; i < job.fresh * steps; ++i) {
      for (const float a : added) *value++ += a;
    }
  }
}

void Vocoder::trunk(StepContext& ctx, std::span<ChunkJob> jobs, const View& low,
                    const View& high) const {
  const auto count = static_cast<int64_t>(jobs.size());
  const View rows_memory = ctx.arena.take({count}, DType::kI64);
  const View states_memory = ctx.arena.take({count}, DType::kI64);  // one pointer for each job
  const std::span rows(static_cast<int64_t*>(rows_memory.data), jobs.size());
  const std::span states(static_cast<ConvState**>(states_memory.data), jobs.size());
  for (size_t j = 0; j < jobs.size(); ++j) rows[j] = jobs[j].fresh;
  add_rows(jobs, &Stream::add_low, 1, low);
  for (size_t i = 0; i < low_.size(); ++i) {
    for (size_t j = 0; j < jobs.size(); ++j) {
      states[j] = &static_cast<Stream*>(jobs[j].state)->low[i];
    }
    low_[i].run(ctx, low, rows, states);
  }
  linear(ctx, up_, low, high.reshape({low.shape[0], up_.out()}));
  add_rows(jobs, &Stream::add_high, kStepsPerFrame, high);
  for (int64_t& row_count : rows) row_count *= kStepsPerFrame;
  for (size_t i = 0; i < high_.size(); ++i) {
    for (size_t j = 0; j < jobs.size(); ++j) {
      states[j] = &static_cast<Stream*>(jobs[j].state)->high[i];
    }
    high_[i].run(ctx, high, rows, states);
  }
}

void Vocoder::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const int64_t frames = fresh_frames(jobs);
  if (frames == 0) return;
  const Arena::Mark mark(ctx.arena);
  const int64_t width = 2 * int64_t{config_.latent};
  const View inputs = ctx.arena.take({frames, kNeighbours * width}, DType::kF32);
  const View low = ctx.arena.take({frames, config_.low_width}, DType::kF32);
  const View high = ctx.arena.take({frames * kStepsPerFrame, config_.high_width}, DType::kF32);
  int64_t at = 0;
  for (const ChunkJob& job : jobs) {
    const Arena::Mark scratch(ctx.arena);
    const int64_t window = job.left + job.fresh + job.ahead;
    const View all = ctx.arena.take({window + 1, width}, DType::kF32);
    gather(job, all.f32(), inputs.f32() + at * kNeighbours * width);
    at += job.fresh;
  }
  linear(ctx, inp_, inputs, low);
  trunk(ctx, jobs, low, high);
  norm_(ctx, high, high);
  speak(ctx, jobs, high);
}

void Vocoder::speak(StepContext& ctx, std::span<ChunkJob> jobs, const View& hidden) const {
  const int64_t steps = hidden.shape[0];
  const View tone = ctx.arena.take({steps, 2}, DType::kF32);
  const View head = ctx.arena.take({steps, head_.out()}, DType::kF32);
  const View scratch = ctx.arena.take({2 * source_.scratch_size()}, DType::kF32);
  linear(ctx, tone_, hidden, tone);
  linear(ctx, head_, hidden, head);
  const auto hop = static_cast<size_t>(source_.shape().hop);
  int64_t at = 0;
  for (ChunkJob& job : jobs) {
    auto& stream = *static_cast<Stream*>(job.state);
    for (int s = 0; s < job.fresh * kStepsPerFrame; ++s, ++at) {
      const float* t = tone.f32() + 2 * at;
      const float lift = lift_of(job, s / kStepsPerFrame, s % kStepsPerFrame);
      const float log_pitch =
          std::clamp(t[0] * config_.pitch_std + stream.pitch_mean + lift * kPitchOfCent,
                     kMinLogPitch, kMaxLogPitch);
      source_.step(stream.source, head.f32() + at * head_.out(),
                   t[1] > 0 ? std::exp(log_pitch) : 0.f, std::exp(lift * kGainOfCent),
                   &job.out[s * hop], reinterpret_cast<std::complex<float>*>(scratch.data));
    }
    if (job.last && job.ahead == 0) job.made -= kStepsPerFrame - kLastSteps;
  }
}

size_t Vocoder::bytes() const {
  return weight_bytes(inp_, up_, tone_, head_, books_, phones_, low_, high_);
}

}  // namespace syrinx::finch
