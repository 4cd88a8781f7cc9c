#include "codec/qwen3_audio_tower.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx {
namespace {

constexpr int64_t kMelPiece = 500;      // frames
constexpr int64_t kRowsOfChunk = 13;    // the authors count on it
constexpr double kLongestWave = 10000;  // of the positions

int64_t downsampled(int64_t size) { return (size + 1) / 2; }

/// Of a chunk in the order [time][band][channel], with a border of zeros around.
struct ChunkPlane {
  ChunkPlane(StepContext& ctx, int64_t times_in, int64_t bands_in, int64_t channels_in)
      : times(times_in),
        bands(bands_in),
        channels(channels_in),
        data(ctx.arena.take({(times + 2) * (bands + 2), channels}, DType::kF32)) {
    std::fill_n(data.f32(), data.count(), 0.f);
  }
  /// Of all bands of a time, [bands, C].
  View row(int64_t time) const {
    const int64_t begin = (time + 1) * (bands + 2) + 1;
    return data.slice(begin, begin + bands);
  }
  /// Where the window of 3 x 3 around (time, band) has its three stretches of 3 C.
  const float* stretch(int64_t time, int64_t band, int64_t tap) const {
    return data.f32() + ((time + tap) * (bands + 2) + band) * channels;
  }
  int64_t times, bands, channels;
  View data;
};

/// What the next convolution sees at time `time` of its output: [bands, 9 C].
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

/// conv_out's columns lie channel by channel, ours band by band.
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
  DecoderConfig d;
  d.layers = static_cast<int>(c.layers);
  d.hidden = static_cast<int>(c.width);
  d.heads = d.kv_heads = static_cast<int>(c.heads);
  d.head_dim = static_cast<int>(c.width / c.heads);
  d.ffn = static_cast<int>(c.ffn);
  d.norm_eps = 1e-5f;
  d.rotary = false;
  d.attention_bias = d.output_bias = d.mlp_bias = true;
  d.causal = false;
  d.norm = NormKind::kLayer;
  d.mlp = MlpKind::kGelu;
  d.names.attention_norm = "self_attn_layer_norm";
  d.names.o = "self_attn.out_proj";
  d.names.mlp_norm = "final_layer_norm";
  d.names.fc1 = "fc1";
  d.names.fc2 = "fc2";
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
  if (downsampled(downsampled(downsampled(a.chunk))) != kRowsOfChunk) {
    c.fail("n_window", "must give 13 rows a chunk (50 as published)");
  }
  if (a.window == 0) c.fail("n_window_infer", "must be at least twice n_window");
  if (a.width % a.heads != 0 || a.width / a.heads % 8 != 0 || a.width / a.heads > 256) {
    c.fail("encoder_attention_heads", "must cut d_model into multiples of 8, at most 256");
  }
  if (c.opt_s("activation_function", "gelu") != "gelu") {
    c.fail("activation_function", "must be gelu");
  }
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
                                 WeightType type)
    : config_(config), mel_(whisper_mel(static_cast<int>(config.mels))) {
  convs_[0] = load_conv(weights.scope("conv2d1"), 1, config.channels, WeightType::kF32);
  convs_[1] = load_conv(weights.scope("conv2d2"), config.channels, config.channels, type);
  convs_[2] = load_conv(weights.scope("conv2d3"), config.channels, config.channels, type);
  const int64_t bands = downsampled(downsampled(downsampled(config.mels)));
  flatten_ = load_flatten(weights, config.width, bands, config.channels, type);
  positions_ = wave_positions(chunk_rows(config.chunk), config.width);
  blocks_ = Decoder(encoder_config(config), weights, type);
  proj1_ = load_linear(weights, "proj1", config.width, config.width, true, type);
  proj2_ = load_linear(weights, "proj2", config.out, config.width, true, type);
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

Qwen3AudioTower::Work Qwen3AudioTower::open(std::span<const float> samples) const {
  const auto size = static_cast<int64_t>(samples.size());
  const int64_t rows = count(size);
  SYRINX_CHECK(rows > 0 && size <= kMaxSeconds * kSampleRate, "[qwen3_audio_tower] ", size,
               " samples");
  Work work;
  work.samples_.assign(samples.begin(), samples.end());
  work.mel_ = Tensor({mel_.frames(size) - 1, config_.mels}, DType::kF32);
  work.window_ = Tensor({std::min(rows, window_rows()), config_.width}, DType::kF32);
  work.rows_ = Tensor({rows, config_.out}, DType::kF32);
  return work;
}

void Qwen3AudioTower::run(StepContext& ctx, Work& work) const {
  SYRINX_CHECK(!work.done() && ctx.device == Device::kCpu, "[qwen3_audio_tower] nothing to do");
  const Arena::Mark mark(ctx.arena);
  switch (work.stage_) {
    case Work::kMel:
      return make_mel(work);
    case Work::kConvolve:
      return run_chunk(ctx, work);
    case Work::kBlocks:
      return run_block(ctx, work);
  }
}

void Qwen3AudioTower::make_mel(Work& work) const {
  const int64_t frames = work.mel_.shape()[0], end = std::min(work.row_ + kMelPiece, frames);
  mel_.run(work.samples_, work.row_, end, work.mel_.f32() + work.row_ * config_.mels);
  work.row_ = end;
  if (end < frames) return;
  whisper_compress({work.mel_.f32(), static_cast<size_t>(work.mel_.view().count())});
  work.samples_ = {};
  work.stage_ = Work::kConvolve, work.row_ = 0;
}

void Qwen3AudioTower::run_chunk(StepContext& ctx, Work& work) const {
  const int64_t all = work.mel_.shape()[0], begin = work.row_;
  const int64_t frames = std::min(config_.chunk, all - begin);
  // A last short chunk is padded, but for the one of a recording that has no whole chunk.
  ChunkPlane plane(ctx, std::min(config_.chunk, all), config_.mels, 1);
  const float* mel = work.mel_.f32() + begin * config_.mels;
  for (int64_t t = 0; t < frames; ++t)
    std::copy_n(mel + t * config_.mels, config_.mels, plane.row(t).f32());
  for (const Conv2d& conv : convs_) {
    ChunkPlane next(ctx, downsampled(plane.times), downsampled(plane.bands), conv.taps.out());
    for (int64_t t = 0; t < next.times; ++t) {
      const Arena::Mark mark(ctx.arena);
      linear(ctx, conv.taps, gather(ctx, plane, t, next.bands), next.row(t));
      activate(ctx, Activation::kGelu, next.row(t), next.row(t));
    }
    plane = next;
  }
  const int64_t rows = chunk_rows(frames), width = plane.bands * plane.channels;
  const View flat = ctx.arena.take({rows, width}, DType::kF32);
  for (int64_t t = 0; t < rows; ++t) std::copy_n(plane.row(t).f32(), width, flat.f32() + t * width);
  const View out = work.window_.view().slice(work.filled_, work.filled_ + rows);
  linear(ctx, flatten_, flat, out);
  add_inplace(ctx, out, positions_.view().slice(0, rows));
  work.filled_ += rows;
  work.row_ += frames;
  if (work.row_ == all || work.row_ % config_.window == 0) work.stage_ = Work::kBlocks;
}

void Qwen3AudioTower::run_block(StepContext& ctx, Work& work) const {
  const int64_t rows = work.filled_;
  KvSpec spec = blocks_.config().kv_spec(DType::kF32);
  spec.layers = 1;
  const int64_t count = KvPool::pages_for(rows);
  const View memory =
      ctx.arena.take({count * static_cast<int64_t>(KvPool::page_bytes(spec))}, DType::kU8);
  const KvPool pool(spec, count, memory);
  const std::span<int32_t> pages = take_array<int32_t>(ctx, count);
  std::iota(pages.begin(), pages.end(), 0);
  const std::array<int32_t, 2> row_begin{0, static_cast<int32_t>(rows)};
  const std::array<int32_t, 1> kv_len{static_cast<int32_t>(rows)};
  const DecoderPart part{0, {row_begin, kv_len, pages, static_cast<int>(count)}, &pool};
  const int block = static_cast<int>(work.block_);
  blocks_.forward(ctx, work.window_.view().slice(0, rows), std::span(&part, 1), 0,
                  {block, block + 1});
  if (++work.block_ == config_.layers) tell(ctx, work);
}

void Qwen3AudioTower::tell(StepContext& ctx, Work& work) const {
  const int64_t rows = work.filled_;
  const View x = work.window_.view().slice(0, rows);
  const View inner = ctx.arena.take({rows, config_.width}, DType::kF32);
  blocks_.norm(ctx, x, x);
  linear(ctx, proj1_, x, inner);
  activate(ctx, Activation::kGelu, inner, inner);
  linear(ctx, proj2_, inner, work.rows_.view().slice(work.told_, work.told_ + rows));
  work.told_ += rows;
  work.filled_ = work.block_ = 0;
  work.stage_ = Work::kConvolve;
}

}  // namespace syrinx
