#include "codec/whisper_encoder.h"

#include <algorithm>
#include <cmath>

#include "codec/whisper_block.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "nn/llama_config.h"

namespace syrinx {
namespace {

constexpr int64_t kLookPiece = 512;  // mel frames computed together

DecoderConfig encoder_blocks(const WhisperEncoderConfig& c, WeightType type) {
  DecoderConfig d = whisper_blocks(c.layers, c.width, c.heads, c.ffn);
  // With the type of the others, q, k and v would cause most of the error in the rows (decision
  // 0012).
  if (type == WeightType::kQ8A8) {
    d.qkv = WeightType::kQ8;
  } else if (type != WeightType::kF32) {
    d.qkv = WeightType::kBF16A16;
  }
  d.whole_cache = is_quantized(type)         ? DType::kI8
                  : type == WeightType::kF32 ? DType::kF32
                                             : DType::kBF16;
  return d;
}

}  // namespace

DecoderConfig whisper_blocks(int64_t layers, int64_t width, int64_t heads, int64_t ffn) {
  DecoderConfig d;
  d.layers = static_cast<int>(layers);
  d.hidden = static_cast<int>(width);
  d.heads = d.kv_heads = static_cast<int>(heads);
  d.head_dim = static_cast<int>(width / heads);
  d.ffn = static_cast<int>(ffn);
  d.norm_eps = 1e-5f;
  d.rotary = false;
  d.attention_bias = d.output_bias = d.mlp_bias = true;
  d.key_bias = false;
  d.causal = false;
  d.norm = NormKind::kLayer;
  d.mlp = MlpKind::kGelu;
  d.names.attention_norm = "self_attn_layer_norm";
  d.names.o = "self_attn.out_proj";
  d.names.mlp_norm = "final_layer_norm";
  d.names.fc1 = "fc1";
  d.names.fc2 = "fc2";
  d.names.final_norm = "layer_norm";
  return d;
}

WhisperEncoderConfig WhisperEncoderConfig::load(const Config& c) {
  WhisperEncoderConfig e;
  e.mels = c.i("num_mel_bins", 8, 512);
  e.width = c.i("d_model", 8, 1 << 13);
  e.layers = c.i("encoder_layers", 1, 256);
  e.heads = c.i("encoder_attention_heads", 1, 512);
  e.ffn = c.i("encoder_ffn_dim", 1, 1 << 15);
  head_size(c, "encoder_attention_heads", e.width, e.heads);
  c.check("max_source_positions", c.i("max_source_positions") == WhisperEncoder::kRows,
          "must be 1500, the rows of 30 s");
  c.only("activation_function", "gelu");
  c.only("scale_embedding", false);
  return e;
}

void WhisperRecording::push(std::span<const float> samples, bool last) {
  SYRINX_CHECK(!closed_, "[whisper_recording] push() was called after the last samples");
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  constexpr int kMargin = WhisperWindow::kMargin, kHop = WhisperWindow::kHop;
  if (!last) return look(samples_, frames() - kMargin);
  // The authors append 30 s of silence, which affects the last frames of the mel.
  closed_ = true;
  const int64_t end = frames() + kMargin + 1;
  const int64_t from = std::max(seen_ - kMargin - dropped_ / kHop, int64_t{0}) * kHop;
  std::vector<float> tail(samples_.begin() + from, samples_.end());
  tail.resize(static_cast<size_t>((end + kMargin) * kHop - dropped_ - from));
  const int64_t before = dropped_;
  dropped_ += from;
  look(tail, end);
  dropped_ = before;
}

void WhisperRecording::look(std::span<const float> from_dropped, int64_t end) {
  if (seen_ >= end) return;
  const int64_t skipped = dropped_ / WhisperWindow::kHop;
  std::vector<float> mel(static_cast<size_t>(kLookPiece * mel_.mels()));
  while (seen_ < end) {
    const int64_t next = std::min(seen_ + kLookPiece, end);
    mel_.run(from_dropped, seen_ - skipped, next - skipped, mel.data());
    const auto filled = mel.begin() + (next - seen_) * mel_.mels();
    loudest_ = std::max(loudest_, *std::max_element(mel.begin(), filled));
    seen_ = next;
  }
}

WhisperWindow WhisperRecording::window(int64_t first) const {
  constexpr int kMargin = WhisperWindow::kMargin, kHop = WhisperWindow::kHop;
  WhisperWindow window;
  window.lead = static_cast<int>(std::min<int64_t>(first, kMargin));
  const int64_t from = (first - window.lead) * kHop - dropped_;
  SYRINX_CHECK(first >= 0 && first <= frames() && from >= 0,
               "[whisper_recording] no window at frame ", first, " of ", frames(),
               ": samples before frame ", dropped_ / kHop, " were dropped");
  window.frames = static_cast<int>(std::min<int64_t>(frames() - first, WhisperWindow::kFrames));
  window.loudest = loudest_;
  window.samples.resize(size_t{WhisperWindow::kFrames + 2 * kMargin} * kHop);
  const auto there = std::span<const float>(samples_).subspan(static_cast<size_t>(from));
  std::copy_n(there.begin(), std::min(there.size(), window.samples.size()), window.samples.begin());
  return window;
}

bool WhisperRecording::within(int64_t first, int64_t end, float peak) const {
  const auto at = [&](int64_t frame) {
    return samples_.begin() +
           std::min(frame * WhisperWindow::kHop - dropped_, std::ssize(samples_));
  };
  return std::all_of(at(first), at(end), [&](float x) { return std::fabs(x) <= peak; });
}

void WhisperRecording::forget(int64_t first) {
  const int64_t keep = std::min({first, seen_, frames()}) - WhisperWindow::kMargin;
  const int64_t old = keep * WhisperWindow::kHop - dropped_;
  if (old < int64_t{WhisperWindow::kFrames} * WhisperWindow::kHop) return;
  samples_.erase(samples_.begin(), samples_.begin() + old);
  dropped_ += old;
}

WhisperEncoder::WhisperEncoder(const WhisperEncoderConfig& config, const Weights& weights,
                               WeightType type)
    : config_(config),
      mel_(whisper_mel(static_cast<int>(config.mels))),
      conv1_(load_whisper_conv(weights.scope("conv1"), config.width, config.mels, type,
                               WeightType::kBF16A16)),
      conv2_(load_whisper_conv(weights.scope("conv2"), config.width, config.width, type,
                               WeightType::kBF16A16)),
      positions_(weights.f32("embed_positions.weight", {kRows, config.width})),
      blocks_(encoder_blocks(config, type), weights, type) {}

size_t WhisperEncoder::bytes() const {
  return conv1_.bytes() + conv2_.bytes() + positions_.bytes() + blocks_.bytes();
}

void WhisperEncoder::move_to(Device device) {
  conv1_ = conv1_.on_device(device);
  conv2_ = conv2_.on_device(device);
  syrinx::move_to(device, positions_);
  blocks_.move_to(device);
}

WhisperEncoder::Work WhisperEncoder::open(const WhisperWindow& window) const {
  SYRINX_CHECK(window.lead >= 0 && window.lead <= WhisperWindow::kMargin && window.frames >= 0 &&
                   window.frames <= 2 * window.rows && window.rows > 0 && window.rows <= kRows,
               "[whisper_encoder] invalid window: ", window.lead, " earlier frames, ",
               window.frames, " frames, ", window.rows, " rows");
  Work work;
  work.pieces_ = pieces();
  work.lead_ = window.lead;
  work.frames_ = window.frames;
  work.all_ = window.rows;
  work.loudest_ = window.loudest;
  return work;
}

void WhisperEncoder::run(StepContext& ctx, Work& work, std::span<const float> samples) const {
  SYRINX_CHECK(work.left() > 0 && ctx.device == device(),
               "[whisper_encoder] run() needs unfinished work and a context on ",
               device_name(device()));
  const Arena::Mark mark(ctx.arena);
  const int piece = work.piece_++;
  if (piece == 0) return make_mel(work, samples);
  if (piece == 1) return convolve(ctx, work);
  const View& x = work.rows_.view();
  if (piece < 2 + config_.layers) return run_whole(ctx, blocks_, x, {piece - 2, piece - 1});
  blocks_.norm(ctx, x, x);
}

void WhisperEncoder::make_mel(Work& work, std::span<const float> samples) const {
  SYRINX_CHECK(samples.size() == size_t{WhisperWindow::kFrames + 2 * WhisperWindow::kMargin} *
                                     WhisperWindow::kHop,
               "[whisper_encoder] unexpected number of samples: ", samples.size());
  work.mel_ = Tensor({2 * work.all_ + 2, config_.mels}, DType::kF32);
  std::fill_n(work.mel_.f32(), work.mel_.view().count(), 0.f);
  float* mel = work.mel_.f32() + config_.mels;
  mel_.run(samples, work.lead_, work.lead_ + work.frames_, mel);
  whisper_compress({mel, static_cast<size_t>(work.frames_ * config_.mels)}, work.loudest_);
}

void WhisperEncoder::convolve(StepContext& ctx, Work& work) const {
  const int64_t frames = 2 * work.all_;
  const View half = ctx.arena.take({frames + 2, config_.width}, DType::kF32);
  const CopySpan zeros[] = {{nullptr, half.f32(), config_.width},
                            {nullptr, half.f32() + (frames + 1) * config_.width, config_.width}};
  copy_spans(ctx, zeros);
  const View inner = half.slice(1, frames + 1);
  conv1d(ctx, conv1_, upload(ctx, work.mel_), inner);
  activate(ctx, Activation::kGelu, inner, inner);
  work.rows_ = Tensor({work.all_, config_.width}, DType::kF32, device());
  conv1d(ctx, conv2_, half, work.rows_, 1, 2);
  activate(ctx, Activation::kGelu, work.rows_, work.rows_);
  add_inplace(ctx, work.rows_, positions_.view().slice(0, work.all_));
  work.mel_ = {};
}

}  // namespace syrinx
