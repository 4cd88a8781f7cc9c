#include "families/chatterbox/speaker.h"

#include <algorithm>
#include <cmath>

namespace syrinx::chatterbox {
namespace {

constexpr int64_t kWindow = 160, kStep = 77;  // in frames of 10 ms: 1.3 windows a second
constexpr int64_t kPiece = 8;      // windows of a piece, which a layer processes together
constexpr double kCoverage = 0.8;  // a last window with a smaller share of recording is not used

MelOptions mel_options() {
  MelOptions o;
  o.mels = 40;
  o.log = MelLog::kNone;
  return o;
}

/// Returns the number of windows of `frames` frames. The last window may extend beyond the end.
int64_t windows_of(int64_t frames) {
  const int64_t room = std::max<int64_t>(frames - kWindow + kStep, 0);
  const int64_t windows = room / kStep, rest = room % kStep;
  const bool more = static_cast<double>(rest + kWindow - kStep) / kWindow >= kCoverage;
  return windows == 0 || more ? windows + 1 : windows;
}

}  // namespace

std::span<const float> without_silent_ends(std::span<const float> samples) {
  constexpr int64_t kFrame = 2048, kHop = 512;
  constexpr double kLeast = 1e-5;  // smallest amplitude
  const auto size = static_cast<int64_t>(samples.size());
  std::vector<double> power;
  for (int64_t centre = 0; centre <= size; centre += kHop) {
    double sum = 0;
    for (int64_t i = std::max<int64_t>(0, centre - kFrame / 2);
         i < std::min(size, centre + kFrame / 2); ++i)
      sum += static_cast<double>(samples[i]) * samples[i];
    power.push_back(std::max(sum / kFrame, kLeast * kLeast));
  }
  const double loudest = *std::max_element(power.begin(), power.end());
  const auto loud = [&](double p) { return 10 * std::log10(p / loudest) > -20; };
  const auto first = std::find_if(power.begin(), power.end(), loud) - power.begin();
  const auto last = power.rend() - std::find_if(power.rbegin(), power.rend(), loud);
  const int64_t begin = std::min(first * kHop, size), end = std::min(last * kHop, size);
  return samples.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

SpeakerEncoder::SpeakerEncoder(const Weights& weights) : mel_(mel_options()) {
  const auto size = [&](const char* name, int dim, int64_t published) {
    const std::optional<Shape> shape = weights.shape(name);
    const bool known = shape && shape->dims() == 2 && (*shape)[dim] > 0 && (*shape)[dim] <= 1 << 13;
    return known ? (*shape)[dim] : published;
  };
  const int64_t hidden = size("proj.weight", 1, 256), width = size("proj.weight", 0, 256);
  const Weights lstm = weights.scope("lstm");
  for (const char* suffix : {"_l0", "_l1", "_l2"}) {
    layers_.emplace_back(lstm, suffix, layers_.empty() ? mel_.mels() : hidden, hidden);
  }
  project_ = load_linear(weights, "proj", width, hidden, true, WeightType::kF32);
  weights.ignore("similarity_*");  // only training uses these weights
}

size_t SpeakerEncoder::bytes() const { return weight_bytes(project_, layers_); }

SpeakerEncoder::Work SpeakerEncoder::open(std::span<const float> samples) const {
  const std::span<const float> sound = without_silent_ends(samples);
  Work work;
  work.mel_ = mel_(sound);
  const auto frames = static_cast<int64_t>(work.mel_.size()) / mel_.mels();
  work.windows_ = windows_of(frames);
  const int64_t seen = kWindow + kStep * (work.windows_ - 1);
  work.mel_.resize(static_cast<size_t>(seen * mel_.mels()), 0.f);
  work.vector_.assign(static_cast<size_t>(width()), 0.f);
  return work;
}

/// Runs one layer over the windows of a piece. After the last layer, adds the windows' vectors.
void SpeakerEncoder::run(StepContext& ctx, Work& work) const {
  SYRINX_CHECK(!work.done(), "[speaker] the work has ended");
  const Arena::Mark mark(ctx.arena);
  const int64_t count = std::min(kPiece, work.windows_ - work.window_);
  if (work.layer_ == 0) {
    work.rows_ = Tensor({kWindow, count, mel_.mels()}, DType::kF32);
    float* to = work.rows_.f32();
    for (int64_t t = 0; t < kWindow; ++t)
      for (int64_t i = 0; i < count; ++i, to += mel_.mels())
        std::copy_n(&work.mel_[((work.window_ + i) * kStep + t) * mel_.mels()], mel_.mels(), to);
  }
  const Lstm& layer = layers_[work.layer_];
  Tensor out({kWindow, count, layer.hidden()}, DType::kF32);
  layer.run(ctx, work.rows_, out);
  work.rows_ = std::move(out);
  if (++work.layer_ < layers_.size()) return;
  const View last = work.rows_.view().slice(kWindow - 1, kWindow).reshape({count, layer.hidden()});
  const View vectors = ctx.arena.take({count, width()}, DType::kF32);
  linear(ctx, project_, last, vectors);
  // The sum needs no division, because the result is scaled to a unit vector.
  const auto unit = [](float* v, int64_t size) {
    double square = 0;
    for (int64_t i = 0; i < size; ++i) square += static_cast<double>(v[i]) * v[i];
    const auto scale = static_cast<float>(square > 0 ? 1 / std::sqrt(square) : 0);
    for (int64_t i = 0; i < size; ++i) v[i] *= scale;
  };
  for (int64_t i = 0; i < count; ++i) {
    float* v = vectors.f32() + i * width();
    for (int64_t k = 0; k < width(); ++k) v[k] = std::max(v[k], 0.f);
    unit(v, width());
    for (int64_t k = 0; k < width(); ++k) work.vector_[k] += v[k];
  }
  work.layer_ = 0, work.window_ += count;
  if (work.done()) unit(work.vector_.data(), width());
}

}  // namespace syrinx::chatterbox
