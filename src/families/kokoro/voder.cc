#include "families/kokoro/voder.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx::kokoro {
namespace {

constexpr int64_t kDecoderWidth = 1024, kTextSide = 64;  // if the file lacks these biases

/// Returns the length of a bias, which is the width of its layer. Returns `usual` if it is missing.
int64_t width_of(const Weights& weights, const std::string& name, int64_t usual) {
  const std::optional<Shape> shape = weights.shape(name);
  return shape && shape->dims() == 1 && (*shape)[0] > 0 ? (*shape)[0] : usual;
}
constexpr float kGeneratorLeak = 0.1f, kLastLeak = 0.01f;

/// Joins the columns of the parts in every row: [a | b | ...].
View side_by_side(StepContext& ctx, std::initializer_list<View> parts) {
  const int64_t rows = parts.begin()->shape[0];
  int64_t width = 0;
  for (const View& part : parts) width += part.shape[1];
  const View out = take_rows(ctx, rows, width);
  int64_t column = 0;
  for (const View& part : parts) {
    copy_columns(ctx, part, column, out);
    column += part.shape[1];
  }
  return out;
}

constexpr float kVoiced = 40;                             // Hz; a lower pitch means unvoiced
constexpr int64_t kShortestRise = 18, kLongestRise = 36;  // half frames: 0.22 and 0.45 s

/// Raises the end of the pitch [2 F], as in a yes-no question: from `start`, up to 1.45 times the
/// median.
void raise_end(std::span<float> pitch, int64_t start) {
  std::vector<float> voiced;
  std::copy_if(pitch.begin(), pitch.end(), std::back_inserter(voiced),
               [](float hz) { return hz > kVoiced; });
  if (voiced.empty()) return;
  const auto middle = voiced.begin() + std::ssize(voiced) / 2;
  std::nth_element(voiced.begin(), middle, voiced.end());
  const float usual = *middle;
  int64_t last = std::ssize(pitch) - 1;
  while (pitch[static_cast<size_t>(last)] < 0.6f * usual) --last;
  start = std::max<int64_t>(0, std::clamp(start, last - kLongestRise, last - kShortestRise));
  const auto rising = static_cast<float>(std::max<int64_t>(1, last - start));
  for (int64_t i = std::max<int64_t>(0, start - 4); i < std::ssize(pitch); ++i) {
    float& hz = pitch[static_cast<size_t>(i)];
    if (hz <= kVoiced) continue;
    const float x = std::clamp(static_cast<float>(i - start) / rising, 0.f, 1.f);
    const float blend = std::min(1.f, static_cast<float>(i - start + 4) / 4);
    hz = std::pow(hz, 1 - blend) * std::pow(usual * (0.95f + 0.5f * x * x), blend);
  }
}

std::vector<float> numbers(const View& view) { return {view.f32(), view.f32() + view.count()}; }

}  // namespace

Voder::Voder(const KokoroConfig& config, const Weights& weights, WeightType type)
    : config_(config), istft_(config.generator.n_fft, config.generator.stft_hop) {
  const int64_t h = config.hidden, style = config.style;
  const Weights predictor = weights.scope("predictor"), decoder = weights.scope("decoder");
  shared_ = BiLstm(predictor.scope("shared"), h + style, h / 2);
  // Every later phase depends on the pitch. So the blocks of the pitch have f32 weights, which need
  // little memory.
  const auto load_curve = [&](const std::string& name, std::vector<StyledBlock>& blocks) {
    for (int i = 0; i < 3; ++i) {
      blocks.emplace_back(predictor.scope(name, i), i < 2 ? h : h / 2, i < 1 ? h : h / 2, style,
                          i == 1, WeightType::kF32);
    }
    return PaddedConv(predictor.scope(name + "_proj"), h / 2, 1, {.taps = 1, .normed = false});
  };
  pitch_out_ = load_curve("F0", pitch_);
  energy_out_ = load_curve("N", energy_);
  const PaddedConv::Options half{.taps = 3, .stride = 2, .pad = 1};
  pitch_in_ = PaddedConv(decoder.scope("F0_conv"), 1, 1, half);
  energy_in_ = PaddedConv(decoder.scope("N_conv"), 1, 1, half);
  const WeightType convolution = for_convolution(type);
  const int64_t wide = width_of(decoder, "encode.conv1.bias", kDecoderWidth);
  const int64_t side = width_of(decoder, "asr_res.0.bias", kTextSide);
  text_in_ = PaddedConv(decoder.scope("asr_res.0"), h, side, {.taps = 1, .type = convolution});
  encode_ = StyledBlock(decoder.scope("encode"), h + 2, wide, style, false, convolution);
  for (int i = 0; i < 4; ++i) {
    decode_.emplace_back(decoder.scope("decode", i), wide + 2 + side,
                         i < 3 ? wide : config.generator.channels, style, i == 3, convolution);
  }
  load_generator(decoder.scope("generator"), convolution);
}

void Voder::load_generator(const Weights& weights, WeightType type) {
  const GeneratorSizes& g = config_.generator;
  source_ = HiftSource({.sample_rate = KokoroConfig::kSampleRate, .hop = g.hop()},
                       weights.scope("m_source"));
  int64_t channels = g.channels, index = 0;
  for (size_t i = 0; i < g.rates.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool last = i + 1 == g.rates.size();
    int64_t stride = 1;  // ratio of the spectrum's rate and this stage's rate
    for (size_t later = i + 1; later < g.rates.size(); ++later) stride *= g.rates[later];
    Stage stage;
    stage.up =
        CroppedConvTranspose(weights.scope("ups", at), channels, channels / 2, g.rate_kernels[i],
                             g.rates[i], (g.rate_kernels[i] - g.rates[i]) / 2, 1, type);
    channels /= 2;
    stage.source_in = PaddedConv(weights.scope("noise_convs", at), g.n_fft + 2, channels,
                                 {.taps = last ? 1 : 2 * stride,
                                  .stride = stride,
                                  .pad = last ? 0 : (stride + 1) / 2,
                                  .normed = false,
                                  .type = type});
    const std::vector<int64_t> dilations{1, 3, 5};
    stage.source = SnakeBlock(weights.scope("noise_res", at), channels, last ? 11 : 7, dilations,
                              config_.style, type);
    for (size_t k = 0; k < g.kernels.size(); ++k) {
      stage.blocks.emplace_back(weights.scope("resblocks", index++), channels, g.kernels[k],
                                g.dilations[k], config_.style, type);
    }
    stages_.push_back(std::move(stage));
  }
  last_ = PaddedConv(weights.scope("conv_post"), channels, g.n_fft + 2, {.taps = 7, .type = type});
}

/// Computes the curve of the pitch or the energy, [2 F, 1].
View Voder::curve(StepContext& ctx, std::span<const StyledBlock> blocks, const PaddedConv& last,
                  const View& x, const View& style) const {
  const View out = take_rows(ctx, 2 * x.shape[0], 1);
  const Arena::Mark mark(ctx.arena);
  View y = x;
  for (const StyledBlock& block : blocks) y = block.run(ctx, y, style);
  y = last.run(ctx, y);
  std::copy_n(y.f32(), y.count(), out.f32());
  return out;
}

/// Computes the input [2 F, channels] of iSTFTNet from text [F, H].
View Voder::decode(StepContext& ctx, const View& text, const View& pitch, const View& energy,
                   const View& style) const {
  const View out = take_rows(ctx, 2 * text.shape[0], config_.generator.channels);
  const Arena::Mark mark(ctx.arena);
  const View f0 = pitch_in_.run(ctx, pitch), n = energy_in_.run(ctx, energy);
  View x = encode_.run(ctx, side_by_side(ctx, {text, f0, n}), style);
  const View side = text_in_.run(ctx, text);
  for (const StyledBlock& block : decode_) {
    x = block.run(ctx, side_by_side(ctx, {x, side, f0, n}), style);
  }
  copy(ctx, x, out);
  return out;
}

/// Computes magnitudes and phases of the excitation, [rows, n_fft + 2]. Windows are centered, and
/// the signal is mirrored at both ends.
View Voder::analyse(StepContext& ctx, std::span<const float> source) const {
  const int64_t n = istft_.n_fft(), hop = istft_.hop(), half = n / 2, bins = half + 1;
  const int64_t count = std::ssize(source), rows = count / hop + 1;
  const View out = take_rows(ctx, rows, 2 * bins);
  const std::span<const float> window = istft_.window();
  ctx.pool.parallel_for(rows, 64, [&](int64_t first, int64_t end) {
    std::vector<std::complex<float>> scratch(static_cast<size_t>(n)),
        spectrum(static_cast<size_t>(bins));
    std::vector<float> stretch(static_cast<size_t>(n));
    for (int64_t r = first; r < end; ++r) {
      for (int64_t i = 0; i < n; ++i) {
        int64_t at = r * hop + i - half;
        at = at < 0 ? -at : at >= count ? 2 * (count - 1) - at : at;
        stretch[i] = window[i] * source[at];
      }
      istft_.fft().forward(stretch.data(), spectrum.data(), scratch.data());
      float* row = out.f32() + r * 2 * bins;
      for (int64_t k = 0; k < bins; ++k) {
        // The first and last bins are real, and so are all bins of the first window, because its
        // signal is even. Their phase must not depend on the sign of a zero or of a rounding error.
        const bool real = r == 0 || k == 0 || k == half;
        const float imaginary = real ? 0.f : spectrum[k].imag();
        row[k] = std::hypot(spectrum[k].real(), imaginary);
        row[bins + k] = std::atan2(imaginary, spectrum[k].real());
      }
    }
  });
  return out;
}

/// Computes x [2 F, channels] -> log magnitudes and phases [rows, n_fft + 2].
View Voder::generate(StepContext& ctx, const View& input, const View& style,
                     const View& harmonics) const {
  View x = input;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const Stage& stage = stages_[i];
    leaky_relu(ctx, x, kGeneratorLeak, x);
    const View source = stage.source_in.run(ctx, harmonics);
    stage.source.run(ctx, source, style);
    // The last stage has an additional row in front, which equals the second row after it.
    const bool longer = i + 1 == stages_.size();
    const View up = stage.up.run(ctx, x, longer ? 1 : 0);
    if (longer) copy(ctx, up.slice(2, 3), up.slice(0, 1));
    add_inplace(ctx, up, source);
    const View sum = take_rows(ctx, up.shape[0], up.shape[1]);
    for (size_t b = 0; b < stage.blocks.size(); ++b) {
      const Arena::Mark mark(ctx.arena);
      // The last block may change `up` in place.
      const bool last = b > 0 && b + 1 == stage.blocks.size();
      const View y = b == 0 ? sum : last ? up : take_rows(ctx, up.shape[0], up.shape[1]);
      if (!last) copy(ctx, up, y);
      stage.blocks[b].run(ctx, y, style);
      if (b > 0) add_inplace(ctx, sum, y);
    }
    scale_inplace(ctx, sum, 1.f / static_cast<float>(stage.blocks.size()));
    x = sum;
  }
  leaky_relu(ctx, x, kLastLeak, x);
  return last_.run(ctx, x);
}

void Voder::synthesise(StepContext& ctx, const View& x, std::span<float> out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], bins = istft_.fft().bins(), hop = istft_.hop();
  const View memory = take_rows(ctx, rows * bins + istft_.scratch_size(), 2);
  auto* spectrum = reinterpret_cast<std::complex<float>*>(memory.f32());
  ctx.pool.parallel_for(rows, 64, [&](int64_t first, int64_t end) {
    for (int64_t i = first * bins; i < end * bins; ++i) {
      const float* row = x.f32() + i / bins * 2 * bins;
      const float magnitude = std::exp(row[i % bins]), phase = std::sin(row[bins + i % bins]);
      spectrum[i] = {magnitude * std::cos(phase), magnitude * std::sin(phase)};
    }
  });
  const int64_t tail = istft_.n_fft() - hop;
  const View samples = take_rows(ctx, rows * hop + tail, 1),
             state = take_rows(ctx, 1, istft_.state_size());
  std::fill_n(state.f32(), state.count(), 0.f);
  istft_.push(spectrum, rows, state.f32(), samples.f32(), spectrum + rows * bins);
  istft_.flush(state.f32(), samples.f32() + rows * hop);
  std::copy_n(samples.f32() + istft_.n_fft() / 2, out.size(), out.data());
}

void Voder::run(StepContext& step, const VoderJob& job, const HiftNoise& noise,
                std::span<float> out, VoderTrace* trace) const {
  const Arena::Mark mark(step.arena), host_mark(step.host);
  StepContext ctx(step.pool, step.host);
  const int64_t h = config_.hidden, phonemes = std::ssize(job.frames);
  int64_t frames = 0;
  for (const int32_t count : job.frames) frames += count;
  SYRINX_CHECK(
      std::ssize(job.features) == phonemes * 2 * h && std::ssize(job.style) == 2 * config_.style &&
          std::ssize(out) == frames * config_.hop(),
      "[kokoro] ", phonemes, " phonemes of ", frames, " frames for ", out.size(), " samples");
  const View style = take_rows(ctx, 2, config_.style);
  std::copy(job.style.begin(), job.style.end(), style.f32());
  const View voice = style.slice(0, 1), manner = style.slice(1, 2);
  // Prosody beside the style, and features: first one row per phoneme, then one row per frame.
  const View meant = take_rows(ctx, phonemes, h + config_.style),
             said = take_rows(ctx, phonemes, h);
  for (int64_t t = 0; t < phonemes; ++t) {
    float* to =
        std::copy_n(job.features.data() + t * 2 * h, h, meant.f32() + t * (h + config_.style));
    std::copy_n(manner.f32(), config_.style, to);
    std::copy_n(job.features.data() + t * 2 * h + h, h, said.f32() + t * h);
  }
  const View meant_frames = take_rows(ctx, frames, h + config_.style);
  const View said_frames = take_rows(ctx, frames, h), shared = take_rows(ctx, frames, h);
  repeat_rows(meant, job.frames, meant_frames);
  repeat_rows(said, job.frames, said_frames);
  shared_.run(ctx, meant_frames, shared);
  const View pitch = curve(ctx, pitch_, pitch_out_, shared, manner);
  if (!job.pitch.empty()) {
    SYRINX_CHECK(std::ssize(job.pitch) == pitch.count(), "[kokoro] pitches: ", job.pitch.size());
    std::copy(job.pitch.begin(), job.pitch.end(), pitch.f32());
  }
  if (job.rise >= 0) raise_end({pitch.f32(), static_cast<size_t>(pitch.count())}, 2 * job.rise);
  const View energy = curve(ctx, energy_, energy_out_, shared, manner);
  const View x =
      decode(step, upload(step, said_frames), upload(step, pitch), upload(step, energy), voice);

  std::vector<float> excitation;
  HiftSource::State state = source_.open();
  source_.run({pitch.f32(), static_cast<size_t>(pitch.count())}, true, noise, state, excitation);
  const View made = generate(step, x, voice, upload(step, analyse(ctx, excitation)));
  View spectrum = made;
  if (step.device == Device::kCuda) {
    spectrum = take_rows(ctx, made.shape[0], made.shape[1]);
    fetch(step, made, {spectrum.f32(), static_cast<size_t>(spectrum.count())});
    synchronize(step);
  }
  synthesise(ctx, spectrum, out);
  if (trace != nullptr) {
    *trace = {numbers(pitch), numbers(energy), std::move(excitation), numbers(spectrum)};
  }
}

void Voder::reserve(StepContext& ctx, int64_t frames) const {
  constexpr int64_t kArrays = 10;  // arrays of the last stage's size, which need most of the memory
  const Arena::Mark mark(ctx.arena);
  take_rows(ctx, frames * config_.hop() / istft_.hop(), kArrays * last_.in());
}

void Voder::move_to(Device device) {
  for (PaddedConv* conv : {&pitch_in_, &energy_in_, &text_in_, &last_}) conv->move_to(device);
  encode_.move_to(device);
  for (StyledBlock& block : decode_) block.move_to(device);
  for (Stage& stage : stages_) {
    stage.up.move_to(device);
    stage.source_in.move_to(device);
    stage.source.move_to(device);
    for (SnakeBlock& block : stage.blocks) block.move_to(device);
  }
}

size_t Voder::bytes() const {
  size_t sum = shared_.bytes() + encode_.bytes() + text_in_.bytes() + last_.bytes();
  for (const auto* blocks : {&pitch_, &energy_, &decode_}) {
    for (const StyledBlock& block : *blocks) sum += block.bytes();
  }
  for (const Stage& stage : stages_) {
    sum += stage.up.bytes() + stage.source_in.bytes() + stage.source.bytes();
    for (const SnakeBlock& block : stage.blocks) sum += block.bytes();
  }
  return sum;
}

}  // namespace syrinx::kokoro
