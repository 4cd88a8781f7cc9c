#include "ears/silero.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "io/file.h"
#include "io/weights.h"

namespace syrinx {
namespace {

constexpr int kWindow = 256, kHop = 128, kBins = 129;
constexpr size_t kBehind = 64;  // mirrored samples appended after a chunk
constexpr int kFrames = 4;      // frames of the Fourier transform
constexpr int kKernel = 3;
constexpr double kLower = 0.15;  // a voice ends below the threshold minus this probability

/// Transposes [rows, columns] to [columns, rows], so that the inner loops run over outputs.
std::vector<float> turned(const float* from, int64_t rows, int64_t columns) {
  std::vector<float> out(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out[static_cast<size_t>(c * rows + r)] = *from++;
  return out;
}

std::vector<float> numbers(const Weights& weights, const std::string& name, const Shape& shape) {
  const Tensor tensor = weights.f32(name, shape);
  const float* data = tensor.view().f32();
  return {data, data + tensor.view().count()};
}

void add_row(float value, const float* row, float* out, int count) {
  for (int i = 0; i < count; ++i) out[i] += value * row[i];
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// Detects voices in frames of 10 ms, from the probabilities of chunks of 32 ms.
class SileroActivity final : public VoiceActivity {
 public:
  SileroActivity(std::shared_ptr<const SileroVad> model, double threshold)
      : stream_(std::move(model)), threshold_(threshold) {}

  bool speaks(std::span<const int16_t> frame) override {
    SYRINX_CHECK(frame.size() == kActivityFrame, "expected a frame of 10 ms, got ", frame.size(),
                 " samples");
    std::array<float, kActivityFrame> samples{};
    std::transform(frame.begin(), frame.end(), samples.begin(),
                   [](int16_t sample) { return static_cast<float>(sample) / 32768.f; });
    for (const float probability : stream_.hear(samples))
      speaks_ = probability >= (speaks_ ? threshold_ - kLower : threshold_);
    return speaks_;
  }

 private:
  SileroStream stream_;
  const double threshold_;
  bool speaks_ = false;
};

}  // namespace

std::shared_ptr<const SileroVad> SileroVad::load(const std::string& path) {
  const std::string file =
      is_directory(path) ? join_path(path, "silero_vad_16k.safetensors") : path;
  auto out = std::make_shared<SileroVad>();
  constexpr int64_t kH = kHidden;
  constexpr std::array<std::array<int, 3>, 4> kShapes = {
      {{kBins, 128, 1}, {128, 64, 2}, {64, 64, 2}, {64, 128, 1}}};
  Weights root(open_weights(file));
  root.build([&] {
    out->transform_ = turned(numbers(root, "stft_conv.weight", {2 * kBins, 1, kWindow}).data(),
                             2 * kBins, kWindow);
    for (size_t i = 0; i < kShapes.size(); ++i) {
      const auto [in, width, stride] = kShapes[i];
      const std::string name = concat("conv", i + 1);
      const std::vector<float> weight = numbers(root, name + ".weight", {width, in, kKernel});
      // [out, in, 3] -> [in, 3, out] -> [3, in, out]
      const std::vector<float> by_input = turned(weight.data(), width, int64_t{in} * kKernel);
      Convolution& conv = out->convolutions_[i];
      conv = {in, width, stride, std::vector<float>(by_input.size()),
              numbers(root, name + ".bias", {width})};
      for (int64_t c = 0; c < in; ++c)
        for (int64_t k = 0; k < kKernel; ++k)
          std::copy_n(by_input.begin() + (c * kKernel + k) * width, width,
                      conv.weight.begin() + (k * in + c) * width);
    }
    for (const char* part : {"lstm_cell.weight_ih", "lstm_cell.weight_hh"}) {
      const auto gates = turned(numbers(root, part, {4 * kH, kH}).data(), 4 * kH, kH);
      out->gates_.insert(out->gates_.end(), gates.begin(), gates.end());
    }
    out->gates_bias_ = numbers(root, "lstm_cell.bias_ih", {4 * kH});
    const std::vector<float> more = numbers(root, "lstm_cell.bias_hh", {4 * kH});
    for (size_t i = 0; i < more.size(); ++i) out->gates_bias_[i] += more[i];
    out->last_ = numbers(root, "final_conv.weight", {1, kH, 1});
    out->last_bias_ = numbers(root, "final_conv.bias", {1})[0];
  });
  return out;
}

/// Computes `from` [frames, in] -> `to` [frames / stride, out], padded with a frame of zeros on
/// both sides. Negative results become zero.
void SileroVad::run(const Convolution& conv, const std::vector<float>& from,
                    std::vector<float>& to) {
  const int frames = static_cast<int>(from.size()) / conv.in;
  const int count = (frames - 1) / conv.stride + 1;
  to.clear();
  for (int t = 0; t < count; ++t) to.insert(to.end(), conv.bias.begin(), conv.bias.end());
  for (int t = 0; t < count; ++t) {
    float* out = to.data() + t * conv.out;
    for (int k = 0; k < kKernel; ++k) {
      const int at = t * conv.stride + k - 1;
      if (at < 0 || at >= frames) continue;
      const float* row = conv.weight.data() + int64_t{k} * conv.in * conv.out;
      for (int c = 0; c < conv.in; ++c, row += conv.out)
        add_row(from[static_cast<size_t>(at * conv.in + c)], row, out, conv.out);
    }
    for (int c = 0; c < conv.out; ++c) out[c] = std::max(out[c], 0.f);
  }
}

float SileroVad::probability(std::span<const float> samples, State& state) const {
  SYRINX_CHECK(samples.size() == kBefore + kChunk,
               "unexpected number of samples: ", samples.size());
  std::array<float, kBefore + kChunk + kBehind> heard{};
  std::copy(samples.begin(), samples.end(), heard.begin());
  for (size_t i = 0; i < kBehind; ++i) heard[samples.size() + i] = samples[samples.size() - 2 - i];
  std::vector<float> now, next;
  for (int t = 0; t < kFrames; ++t) {
    std::array<float, 2 * kBins> parts{};
    for (int i = 0; i < kWindow; ++i)
      add_row(heard[static_cast<size_t>(t * kHop + i)], transform_.data() + i * 2 * kBins,
              parts.data(), 2 * kBins);
    for (int b = 0; b < kBins; ++b)
      now.push_back(std::sqrt(parts[b] * parts[b] + parts[kBins + b] * parts[kBins + b]));
  }
  for (const Convolution& conv : convolutions_) {
    run(conv, now, next);
    now.swap(next);
  }
  constexpr int kH = kHidden;
  std::vector<float> gates = gates_bias_;
  for (int i = 0; i < kH; ++i) {
    add_row(now[i], gates_.data() + int64_t{i} * 4 * kH, gates.data(), 4 * kH);
    add_row(state.hidden[i], gates_.data() + int64_t{kH + i} * 4 * kH, gates.data(), 4 * kH);
  }
  float sum = last_bias_;
  for (int i = 0; i < kH; ++i) {  // gates: input, forget, cell, output
    state.cell[i] =
        sigmoid(gates[kH + i]) * state.cell[i] + sigmoid(gates[i]) * std::tanh(gates[2 * kH + i]);
    state.hidden[i] = sigmoid(gates[3 * kH + i]) * std::tanh(state.cell[i]);
    sum += last_[i] * std::max(state.hidden[i], 0.f);
  }
  return sigmoid(sum);
}

SileroStream::SileroStream(std::shared_ptr<const SileroVad> model)
    : model_(std::move(model)), waiting_(SileroVad::kBefore) {}

std::vector<float> SileroStream::hear(std::span<const float> samples) {
  std::vector<float> out;
  while (!samples.empty()) {
    constexpr size_t kWhole = SileroVad::kBefore + SileroVad::kChunk;
    const auto part = samples.first(std::min(samples.size(), kWhole - waiting_.size()));
    waiting_.insert(waiting_.end(), part.begin(), part.end());
    samples = samples.subspan(part.size());
    if (waiting_.size() < kWhole) break;
    out.push_back(model_->probability(waiting_, state_));
    waiting_.erase(waiting_.begin(), waiting_.end() - SileroVad::kBefore);
  }
  return out;
}

std::unique_ptr<VoiceActivity> open_silero_activity(std::shared_ptr<const SileroVad> model,
                                                    double threshold) {
  return std::make_unique<SileroActivity>(std::move(model), threshold);
}

}  // namespace syrinx
