#include "codec/qwen3_audio_tower.h"

#include <algorithm>
#include <cmath>

#include "codec/whisper_encoder.h"
#include "io/digest.h"
#include "kernels/activation.h"
#include "kernels/patches.h"
#include "nn/llama_config.h"

namespace syrinx {
namespace {

constexpr int64_t kRowsOfChunk = 13;    // constant in the authors' code
constexpr double kLongestWave = 10000;  // longest wavelength of the positions

/// Limits the windows of a convolution that are in memory together. On a CPU they are those of one
/// time, which fit its cache.
int64_t patches_together(const StepContext& ctx, int64_t bands) {
  constexpr int64_t kOnGpu = 4096;
  return ctx.device == Device::kCpu ? bands : kOnGpu;
}

/// Returns the positions of `rows` rows, which restart after `period` rows.
Tensor wave_positions(int64_t rows, int64_t period, int64_t width) {
  Tensor table({rows, width}, DType::kF32);
  const int64_t waves = width / 2;
  const double step = std::log(kLongestWave) / static_cast<double>(waves - 1);
  for (int64_t i = 0; i < waves; ++i) {
    const float turn = std::exp(static_cast<float>(-step) * static_cast<float>(i));
    for (int64_t t = 0; t < rows; ++t) {
      const float angle = static_cast<float>(t % period) * turn;
      table.f32()[t * width + i] = std::sin(angle);
      table.f32()[t * width + waves + i] = std::cos(angle);
    }
  }
  return table;
}

/// Loads a 3 x 3 convolution as the matrix [out, 9 * in] of a product with gather_patches().
PackedLinear load_conv2d(const Weights& weights, int64_t in, int64_t out, WeightType type) {
  const Tensor stored = weights.f32("weight", {out, in, 3, 3});  // [..., band, time]
  Tensor turned({out, 9 * in}, DType::kF32);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t c = 0; c < in; ++c)
      for (int64_t band = 0; band < 3; ++band)
        for (int64_t time = 0; time < 3; ++time)
          turned.f32()[((o * 3 + time) * 3 + band) * in + c] =
              stored.f32()[((o * in + c) * 3 + band) * 3 + time];
  return PackedLinear::pack(turned, type, weights.take("bias", {out}));
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

/// Runs a convolution and a gelu on planes [N, T, B, C].
View convolve2d(StepContext& ctx, const PackedLinear& conv, const View& planes) {
  const int64_t bands = halved(planes.shape[2]), channels = conv.out();
  const Shape shape{planes.shape[0], halved(planes.shape[1]), bands, channels};
  const View out = ctx.arena.take({shape.count() / channels, channels}, DType::kF32);
  const int64_t together = patches_together(ctx, bands);
  for (int64_t at = 0; at < out.shape[0]; at += together) {
    const Arena::Mark mark(ctx.arena);
    const View part = out.slice(at, std::min(at + together, out.shape[0]));
    const View patches = ctx.arena.take({part.shape[0], conv.in()}, DType::kF32);
    gather_patches(ctx, planes, at, patches);
    linear(ctx, conv, patches, part);
    activate(ctx, Activation::kGelu, part, part);
  }
  return out.reshape(shape);
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
  c.check("n_window", halved(halved(halved(a.chunk))) == kRowsOfChunk,
          "must yield 13 rows per chunk (published value: 50)");
  c.check("n_window_infer", a.window != 0, "must be at least twice n_window");
  head_size(c, "encoder_attention_heads", a.width, a.heads);
  c.only("activation_function", "gelu");
  return a;
}

Qwen3AudioTower::Qwen3AudioTower(const Qwen3AudioConfig& config, const Weights& weights,
                                 const Projection& projection, WeightType type)
    : config_(config), mel_(whisper_mel(static_cast<int>(config.mels))) {
  convs_[0] = load_conv2d(weights.scope("conv2d1"), 1, config.channels, WeightType::kF32);
  convs_[1] = load_conv2d(weights.scope("conv2d2"), config.channels, config.channels, type);
  convs_[2] = load_conv2d(weights.scope("conv2d3"), config.channels, config.channels, type);
  const int64_t bands = halved(halved(halved(config.mels)));
  flatten_ = load_flatten(weights, config.width, bands, config.channels, type);
  const int64_t each = chunk_rows(config.chunk);
  positions_ = wave_positions(config.window / config.chunk * each, each, config.width);
  blocks_ = Decoder(encoder_config(config), weights, type);
  const auto& [last, first, second] = projection;
  proj1_ = load_linear(last, first, config.width, config.width, true, type);
  proj2_ = load_linear(last, second, config.out, config.width, true, type);
}

void Qwen3AudioTower::move_to(Device device) {
  for (PackedLinear& conv : convs_) syrinx::move_to(device, conv);
  syrinx::move_to(device, flatten_, positions_, blocks_, proj1_, proj2_);
}

size_t Qwen3AudioTower::bytes() const {
  size_t sum = flatten_.bytes() + blocks_.bytes() + proj1_.bytes() + proj2_.bytes();
  for (const PackedLinear& conv : convs_) sum += conv.bytes();
  return sum;
}

int64_t Qwen3AudioTower::chunk_rows(int64_t frames) { return halved(halved(halved(frames))); }

int64_t Qwen3AudioTower::rows_of(int64_t frames) const {
  return frames / config_.chunk * chunk_rows(config_.chunk) + chunk_rows(frames % config_.chunk);
}

int64_t Qwen3AudioTower::count(int64_t samples) const {
  const int64_t frames = mel_.frames(samples) - 1;
  return frames < 1 ? 0 : rows_of(frames);
}

std::pair<int64_t, int64_t> Qwen3AudioTower::window_frames(int64_t number, int64_t length) const {
  const int64_t all = mel_.frames(length) - 1, begin = number * config_.window;
  return {begin, std::clamp<int64_t>(all - begin, 0, config_.window)};
}

int64_t Qwen3AudioTower::window_rows(int64_t number, int64_t length) const {
  return rows_of(window_frames(number, length).second);
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
  const int64_t frames = window_frames(window.number, window.length).second;
  const int64_t rows = window_rows(window.number, window.length);
  SYRINX_CHECK(rows > 0 && out.shape[0] == rows && ctx.device == device(),
               "[qwen3_audio_tower] window ", window.number, " of ", window.length,
               " samples, the context is on ", device_name(ctx.device));
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View mel = make_mel(ctx, window);
  const View x = ctx.arena.take({rows, config_.width}, DType::kF32);
  // On a CPU, the planes of one chunk fit the cache better than those of all chunks.
  const int64_t chunks = ctx.device == Device::kCpu ? 1 : mel.shape[0];
  for (int64_t at = 0, row = 0; at < mel.shape[0]; at += chunks) {
    const int64_t made = rows_of(std::min(chunks * config_.chunk, frames - at * config_.chunk));
    convolve(ctx, mel.slice(at, at + chunks), x.slice(row, row + made));
    row += made;
  }
  run_whole(ctx, blocks_, x, {0, static_cast<int>(config_.layers)});
  const View inner = ctx.arena.take({rows, config_.width}, DType::kF32);
  blocks_.norm(ctx, x, x);
  linear(ctx, proj1_, x, inner);
  activate(ctx, Activation::kGelu, inner, inner);
  linear(ctx, proj2_, inner, out);
}

/// Computes the log-mel of a window's chunks in host memory, [chunks, times, mels, 1]. Zeros follow
/// the last frame.
View Qwen3AudioTower::make_mel(StepContext& ctx, const Window& window) const {
  const auto [begin, frames] = window_frames(window.number, window.length);
  // A short last chunk is padded to a whole chunk. Without fills_first, this happens only if the
  // recording has a whole chunk.
  const int64_t times =
      config_.fills_first ? config_.chunk : std::min(config_.chunk, begin + frames);
  const int64_t chunks = (frames + config_.chunk - 1) / config_.chunk;
  const View mel = ctx.host.take({chunks, times, config_.mels, 1}, DType::kF32);
  const int64_t first = begin - window.offset / mel_.options().hop, made = frames * config_.mels;
  mel_.run(window.samples, first, first + frames, mel.f32());
  whisper_compress({mel.f32(), static_cast<size_t>(made)}, window.loudest);
  std::fill_n(mel.f32() + made, mel.count() - made, 0.f);
  return mel;
}

/// Computes the rows of chunks of mel frames [chunks, times, mels, 1] in host memory. All chunks
/// but the last are whole.
void Qwen3AudioTower::convolve(StepContext& ctx, const View& mel, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  View planes = upload(ctx, mel);
  for (const PackedLinear& conv : convs_) planes = convolve2d(ctx, conv, planes);
  const int64_t width = planes.shape[2] * planes.shape[3], rows = out.shape[0];
  const View flat = planes.reshape({planes.shape[0] * planes.shape[1], width});
  linear(ctx, flatten_, flat.slice(0, rows), out);
  add_inplace(ctx, out, positions_.view().slice(0, rows));
}

}  // namespace syrinx
