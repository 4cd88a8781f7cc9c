#include "codec/qwen3_audio_tower.h"

#include <algorithm>
#include <cmath>

#include "codec/whisper_encoder.h"
#include "io/digest.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "nn/llama_config.h"

namespace syrinx {
namespace {

constexpr int64_t kRowsOfChunk = 13;    // constant in the authors' code
constexpr double kLongestWave = 10000;  // longest wavelength of the positions

int64_t downsampled(int64_t size) { return (size + 1) / 2; }

/// The input of a convolution: a chunk as [time][band][channel], with a border of zeros.
struct ChunkPlane {
  ChunkPlane(StepContext& ctx, int64_t times_in, int64_t bands_in, int64_t channels_in)
      : times(times_in),
        bands(bands_in),
        channels(channels_in),
        data(ctx.arena.take({(times + 2) * (bands + 2), channels}, DType::kF32)) {
    std::fill_n(data.f32(), data.count(), 0.f);
  }
  /// Returns all bands at one time, [bands, C].
  View row(int64_t time) const {
    const int64_t begin = (time + 1) * (bands + 2) + 1;
    return data.slice(begin, begin + bands);
  }
  /// Returns row `tap` (3 C numbers) of the 3 x 3 window around (time, band).
  const float* stretch(int64_t time, int64_t band, int64_t tap) const {
    return data.f32() + ((time + tap) * (bands + 2) + band) * channels;
  }
  int64_t times, bands, channels;
  View data;
};

/// Gathers the input of the next convolution for its output at time `time`: [bands, 9 C].
View gather(StepContext& ctx, const ChunkPlane& from, int64_t time, int64_t bands) {
  const int64_t stretch = 3 * from.channels;
  const View patches = ctx.arena.take({bands, 3 * stretch}, DType::kF32);
  float* to = patches.f32();
  for (int64_t band = 0; band < bands; ++band) {
    for (int64_t tap = 0; tap < 3; ++tap, to += stretch)
      std::copy_n(from.stretch(2 * time, 2 * band, tap), stretch, to);
  }
  return patches;
}

Tensor wave_positions(int64_t rows, int64_t width) {
  Tensor table({rows, width}, DType::kF32);
  const int64_t waves = width / 2;
  const double step = std::log(kLongestWave) / static_cast<double>(waves - 1);
  for (int64_t i = 0; i < waves; ++i) {
    const float turn = std::exp(static_cast<float>(-step) * static_cast<float>(i));
    for (int64_t t = 0; t < rows; ++t) {
      const float angle = static_cast<float>(t) * turn;
      table.f32()[t * width + i] = std::sin(angle);
      table.f32()[t * width + waves + i] = std::cos(angle);
    }
  }
  return table;
}

/// Loads conv_out with its columns reordered from channel order to band order.
PackedLinear load_flatten(const Weights& weights, int64_t out, int64_t bands, int64_t channels,
                          WeightType type) {
  const LinearPart part = take_linear(weights, "conv_out", out, bands * channels, false);
  const Tensor stored = to_f32(part.weight);
  Tensor turned(stored.shape(), DType::kF32);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t b = 0; b < bands; ++b)
        turned.f32()[(o * bands + b) * channels + c] = stored.f32()[(o * channels + c) * bands + b];
  return PackedLinear::pack(turned, type);
}

DecoderConfig encoder_config(const Qwen3AudioConfig& c) {
  DecoderConfig d = whisper_blocks(c.layers, c.width, c.heads, c.ffn);
  d.key_bias = true;
  d.names.final_norm = "ln_post";
  return d;
}

}  // namespace

Qwen3AudioConfig Qwen3AudioConfig::load(const Config& c) {
  Qwen3AudioConfig a;
  a.mels = c.opt_i("num_mel_bins", a.mels, 8, 512);
  a.channels = c.i("downsample_hidden_size", 1, 1 << 12);
  a.width = c.i("d_model", 4, 1 << 14);
  a.layers = c.i("encoder_layers", 1, 512);
  a.heads = c.i("encoder_attention_heads", 1, 512);
  a.ffn = c.i("encoder_ffn_dim", 1, 1 << 16);
  a.out = c.i("output_dim", 1, 1 << 16);
  a.chunk = 2 * c.i("n_window", 1, 1 << 12);
  a.window = c.i("n_window_infer", 1, 1 << 14) / a.chunk * a.chunk;
  c.check("n_window", downsampled(downsampled(downsampled(a.chunk))) == kRowsOfChunk,
          "must yield 13 rows per chunk (published value: 50)");
  c.check("n_window_infer", a.window != 0, "must be at least twice n_window");
  head_size(c, "encoder_attention_heads", a.width, a.heads);
  c.only("activation_function", "gelu");
  return a;
}

Qwen3AudioTower::Conv2d Qwen3AudioTower::load_conv(const Weights& weights, int64_t in, int64_t out,
                                                   WeightType type) {
  const Tensor stored = weights.f32("weight", {out, in, 3, 3});  // [..., band, time]
  Tensor turned({out, 9 * in}, DType::kF32);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t c = 0; c < in; ++c)
      for (int64_t band = 0; band < 3; ++band)
        for (int64_t time = 0; time < 3; ++time)
          turned.f32()[((o * 3 + time) * 3 + band) * in + c] =
              stored.f32()[((o * in + c) * 3 + band) * 3 + time];
  return {PackedLinear::pack(turned, type, weights.take("bias", {out})), in};
}

Qwen3AudioTower::Qwen3AudioTower(const Qwen3AudioConfig& config, const Weights& weights,
                                 const Projection& projection, WeightType type)
    : config_(config), mel_(whisper_mel(static_cast<int>(config.mels))) {
  convs_[0] = load_conv(weights.scope("conv2d1"), 1, config.channels, WeightType::kF32);
  convs_[1] = load_conv(weights.scope("conv2d2"), config.channels, config.channels, type);
  convs_[2] = load_conv(weights.scope("conv2d3"), config.channels, config.channels, type);
  const int64_t bands = downsampled(downsampled(downsampled(config.mels)));
  flatten_ = load_flatten(weights, config.width, bands, config.channels, type);
  positions_ = wave_positions(chunk_rows(config.chunk), config.width);
  blocks_ = Decoder(encoder_config(config), weights, type);
  const auto& [last, first, second] = projection;
  proj1_ = load_linear(last, first, config.width, config.width, true, type);
  proj2_ = load_linear(last, second, config.out, config.width, true, type);
}

size_t Qwen3AudioTower::bytes() const {
  size_t sum = flatten_.bytes() + blocks_.bytes() + proj1_.bytes() + proj2_.bytes();
  for (const Conv2d& conv : convs_) sum += conv.taps.bytes();
  return sum;
}

int64_t Qwen3AudioTower::chunk_rows(int64_t frames) {
  return downsampled(downsampled(downsampled(frames)));
}

int64_t Qwen3AudioTower::count(int64_t samples) const {
  const int64_t frames = mel_.frames(samples) - 1;
  if (frames < 1) return 0;
  return frames / config_.chunk * chunk_rows(config_.chunk) + chunk_rows(frames % config_.chunk);
}

std::pair<int64_t, int64_t> Qwen3AudioTower::window_frames(int64_t number, int64_t length) const {
  const int64_t all = mel_.frames(length) - 1, begin = number * config_.window;
  return {begin, std::clamp<int64_t>(all - begin, 0, config_.window)};
}

int64_t Qwen3AudioTower::window_rows(int64_t number, int64_t length) const {
  const int64_t frames = window_frames(number, length).second;
  return frames / config_.chunk * chunk_rows(config_.chunk) + chunk_rows(frames % config_.chunk);
}

MelExtremes Qwen3AudioTower::extremes(std::span<const float> recording) const {
  const int64_t frames = mel_.frames(std::ssize(recording)) - 1;
  SYRINX_CHECK(frames > 0, "[qwen3_audio_tower] too few samples: ", recording.size());
  return mel_extremes(mel_, recording, frames, config_.window);
}

/// A window's key depends on the window and half an STFT window on each side, or less at the ends
/// of the recording.
std::vector<uint64_t> Qwen3AudioTower::keys(std::span<const float> recording,
                                            const MelExtremes& extremes) const {
  std::vector<uint64_t> out;
  const int64_t length = std::ssize(recording), reach = mel_.options().n_fft / 2;
  for (int64_t number = 0; window_frames(number, length).second > 0; ++number) {
    const int64_t begin = number * config_.window * mel_.options().hop;
    const int64_t end = begin + config_.window * mel_.options().hop + reach;
    const int64_t from = std::max<int64_t>(0, begin - reach);
    Digest digest;
    digest.number(number == 0 ? 1 : 0);
    const bool floored = extremes.floored(static_cast<size_t>(number));
    digest.values(std::span(&extremes.loudest, floored ? 1 : 0));
    digest.values(recording.subspan(static_cast<size_t>(from),
                                    static_cast<size_t>(std::min(end, length) - from)));
    out.push_back(digest.key());
  }
  return out;
}

void Qwen3AudioTower::encode(StepContext& ctx, const Window& window, const View& out) const {
  const auto [begin, frames] = window_frames(window.number, window.length);
  const int64_t rows = window_rows(window.number, window.length);
  SYRINX_CHECK(rows > 0 && out.shape[0] == rows && ctx.device == Device::kCpu,
               "[qwen3_audio_tower] window ", window.number, " of ", window.length, " samples");
  const Arena::Mark mark(ctx.arena);
  const View mel = ctx.arena.take({frames, config_.mels}, DType::kF32);
  const int64_t first = begin - window.offset / mel_.options().hop;
  mel_.run(window.samples, first, first + frames, mel.f32());
  whisper_compress({mel.f32(), static_cast<size_t>(mel.count())}, window.loudest);
  const View x = ctx.arena.take({rows, config_.width}, DType::kF32);
  // A short last chunk is padded to a whole chunk. Without fills_first, this happens only if the
  // recording has a whole chunk.
  const int64_t times =
      config_.fills_first ? config_.chunk : std::min(config_.chunk, begin + frames);
  int64_t row = 0;
  for (int64_t at = 0; at < frames; at += config_.chunk) {
    const View chunk = mel.slice(at, std::min(at + config_.chunk, frames));
    const int64_t made = chunk_rows(chunk.shape[0]);
    convolve(ctx, chunk, times, x.slice(row, row + made));
    row += made;
  }
  run_whole(ctx, blocks_, x, {0, static_cast<int>(config_.layers)});
  const View inner = ctx.arena.take({rows, config_.width}, DType::kF32);
  blocks_.norm(ctx, x, x);
  linear(ctx, proj1_, x, inner);
  activate(ctx, Activation::kGelu, inner, inner);
  linear(ctx, proj2_, inner, out);
}

/// Computes the rows of a chunk of mel frames that is padded to `times` frames.
void Qwen3AudioTower::convolve(StepContext& ctx, const View& mel, int64_t times,
                               const View& out) const {
  const Arena::Mark mark(ctx.arena);
  ChunkPlane plane(ctx, times, config_.mels, 1);
  for (int64_t t = 0; t < mel.shape[0]; ++t)
    std::copy_n(mel.f32() + t * config_.mels, config_.mels, plane.row(t).f32());
  for (const Conv2d& conv : convs_) {
    ChunkPlane next(ctx, downsampled(plane.times), downsampled(plane.bands), conv.taps.out());
    for (int64_t t = 0; t < next.times; ++t) {
      const Arena::Mark row_mark(ctx.arena);
      linear(ctx, conv.taps, gather(ctx, plane, t, next.bands), next.row(t));
      activate(ctx, Activation::kGelu, next.row(t), next.row(t));
    }
    plane = next;
  }
  const int64_t rows = out.shape[0], width = plane.bands * plane.channels;
  const View flat = ctx.arena.take({rows, width}, DType::kF32);
  for (int64_t t = 0; t < rows; ++t) std::copy_n(plane.row(t).f32(), width, flat.f32() + t * width);
  linear(ctx, flatten_, flat, out);
  add_inplace(ctx, out, positions_.view().slice(0, rows));
}

}  // namespace syrinx
