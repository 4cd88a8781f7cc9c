#include "codec/step_audio_encoder.h"

#include <algorithm>

#include "io/digest.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/patches.h"
#include "nn/llama_config.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

constexpr int64_t kPadding = 479;  // samples of silence after a piece
constexpr int64_t kHearingTaps = 3, kPool = 2, kAdapterStride = 2;

/// Names of a block's parts, as in Whisper's own code.
constexpr WhisperBlockNames kStepNames{.attention_norm = "attn_ln",
                                       .q = "attn.query",
                                       .k = "attn.key",
                                       .v = "attn.value",
                                       .o = "attn.out",
                                       .mlp_norm = "mlp_ln",
                                       .up = "mlp.0",
                                       .down = "mlp.2"};

/// Returns the number of mel frames of a piece, without the last frame, as in Whisper.
int64_t mel_frames(int64_t samples) { return (samples + kPadding) / 160; }
int64_t rows_of(int64_t frames) { return (frames + 1) / 2; }
/// Returns how many rows attention covers: the rows of the samples, not those of the padding.
int64_t rows_seen(int64_t frames) { return frames < 3 ? 0 : (frames - 1) / 2; }

/// Runs a convolution of three taps on x, padded with a row of zeros on both sides.
void convolve_padded(StepContext& ctx, const PackedConv1d& conv, const View& x, const View& out,
                     int64_t stride) {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], width = x.shape[1];
  const View wide = take_rows(ctx, rows + 2, width);
  const CopySpan copies[] = {{nullptr, wide.f32(), width},
                             {x.f32(), wide.f32() + width, rows * width},
                             {nullptr, wide.f32() + (rows + 1) * width, width}};
  copy_spans(ctx, copies);
  conv1d(ctx, conv, wide, out, 1, stride);
}

}  // namespace

StepAudioEncoderConfig StepAudioEncoderConfig::load(const Config& root) {
  const Config c = root.sub("audio_encoder_config");
  StepAudioEncoderConfig e;
  e.mels = c.i("n_mels", 8, 512);
  e.width = c.i("n_audio_state", 8, 1 << 13);
  e.layers = c.i("n_audio_layer", 1, 256);
  e.heads = c.i("n_audio_head", 1, 512);
  e.positions = c.i("n_audio_ctx", 1, 1 << 16);
  e.out = c.i("llm_dim", 8, 1 << 16);
  head_size(c, "n_audio_head", e.width, e.heads);
  c.check("kernel_size", c.i("kernel_size") == kHearingTaps, "must be 3");
  c.check("adapter_stride", c.i("adapter_stride") == kAdapterStride, "must be 2");
  c.check("n_audio_ctx", e.positions >= rows_of(mel_frames(StepAudioEncoder::kPiece)),
          "must have positions for a piece of 25 s");
  return e;
}

StepAudioEncoder::StepAudioEncoder(const StepAudioEncoderConfig& config, const Weights& encoder,
                                   const Weights& adapter, WeightType type)
    : config_(config),
      mel_(whisper_mel(static_cast<int>(config.mels))),
      conv1_(load_whisper_conv(encoder.scope("conv1"), config.width, config.mels, type)),
      conv2_(load_whisper_conv(encoder.scope("conv2"), config.width, config.width, type)),
      conv3_(load_whisper_conv(adapter.scope("conv"), config.width, config.width, type)),
      positions_(encoder.f32("positional_embedding.weight", {config.positions, config.width})),
      norm_(encoder.scope("after_norm"), config.width, WhisperBlock::kNormEps),
      first_(load_linear(adapter, "linear1", config.hidden, config.width, true, type)),
      second_(load_linear(adapter, "linear2", config.out, config.hidden, true, type)) {
  for (int64_t i = 0; i < config.layers; ++i)
    blocks_.emplace_back(encoder.scope("blocks", i), config.width, config.heads, config.ffn(),
                         kStepNames, type);
}

void StepAudioEncoder::move_to(Device device) {
  for (PackedConv1d* conv : {&conv1_, &conv2_, &conv3_}) *conv = conv->on_device(device);
  syrinx::move_to(device, positions_, blocks_, norm_, first_, second_);
}

size_t StepAudioEncoder::bytes() const {
  size_t sum = conv1_.bytes() + conv2_.bytes() + conv3_.bytes() + positions_.bytes() +
               first_.bytes() + second_.bytes();
  for (const WhisperBlock& block : blocks_) sum += block.bytes();
  return sum;
}

int64_t StepAudioEncoder::count(int64_t samples) {
  return (rows_seen(mel_frames(samples)) / kPool + 1) / kAdapterStride;
}

uint64_t StepAudioEncoder::key(std::span<const float> piece) {
  Digest digest;
  digest.values(piece);
  return digest.key();
}

View StepAudioEncoder::Work::x() const { return x_.view().slice(0, rows_of(mel_frames(samples_))); }

StepAudioEncoder::Work StepAudioEncoder::open(int64_t samples) const {
  SYRINX_CHECK(samples > 0 && samples <= kPiece,
               "[step_audio_encoder] unsupported size of a piece: ", samples, " samples");
  Work work;
  work.samples_ = samples;
  work.steps_ = count(samples) > 0 ? steps() : 0;
  work.rows_ = Tensor({count(kPiece), config_.out}, DType::kF32, device());
  work.count_ = count(samples);
  return work;
}

void StepAudioEncoder::run(StepContext& ctx, Work& work, std::span<const float> samples) const {
  SYRINX_CHECK(!work.done() && ctx.device == device(),
               "[step_audio_encoder] run() needs unfinished work and a context on ",
               device_name(device()));
  if (work.step_ == 0) {
    hear(ctx, work, samples);
  } else if (work.step_ <= config_.layers) {
    const int64_t seen = rows_seen(mel_frames(work.samples_));
    blocks_[static_cast<size_t>(work.step_ - 1)].run(ctx, work.past_, 0, seen, work.x());
  } else {
    adapt(ctx, work);
  }
  ++work.step_;
}

void StepAudioEncoder::hear(StepContext& ctx, Work& work, std::span<const float> samples) const {
  SYRINX_CHECK(std::ssize(samples) == work.samples_, "[step_audio_encoder] ", samples.size(),
               " samples, but the piece has ", work.samples_);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  std::vector<float> padded(samples.begin(), samples.end());
  padded.resize(padded.size() + kPadding, 0.f);
  const int64_t frames = mel_frames(work.samples_), rows = rows_of(frames);
  const View mel = ctx.host.take({frames, config_.mels}, DType::kF32);
  mel_.run(padded, 0, frames, mel.f32());
  whisper_compress({mel.f32(), static_cast<size_t>(mel.count())});
  const View inner = take_rows(ctx, frames, config_.width);
  convolve_padded(ctx, conv1_, upload(ctx, mel), inner, 1);
  activate(ctx, Activation::kGelu, inner, inner);
  work.x_ = Tensor({config_.positions, config_.width}, DType::kF32, device());
  const View x = work.x();
  convolve_padded(ctx, conv2_, inner, x, 2);
  activate(ctx, Activation::kGelu, x, x);
  add_inplace(ctx, x, positions_.view().slice(0, rows));
  work.past_ = WhisperBlock::Past(1, config_.heads, config_.width / config_.heads,
                                  config_.positions, DType::kF32, device());
  work.past_.rows = rows;
}

void StepAudioEncoder::adapt(StepContext& ctx, Work& work) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t width = config_.width, pooled = work.x().shape[0] / kPool;
  const View means = take_rows(ctx, pooled, width);
  mean_rows(ctx, work.x().slice(0, pooled * kPool), means);
  norm_(ctx, means, means);
  // As in the original, the last convolution also reads rows that attention excludes.
  const int64_t made = (pooled - 1) / kAdapterStride + 1, count = work.count_;
  const View convolved = take_rows(ctx, made, width);
  convolve_padded(ctx, conv3_, means, convolved, kAdapterStride);
  activate(ctx, Activation::kGelu, convolved, convolved);
  const View hidden = take_rows(ctx, count, config_.hidden);
  linear(ctx, first_, convolved.slice(0, count), hidden);
  activate(ctx, Activation::kRelu, hidden, hidden);
  linear(ctx, second_, hidden, work.rows());
}

}  // namespace syrinx
