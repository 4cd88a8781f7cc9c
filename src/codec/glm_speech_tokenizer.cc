#include "codec/glm_speech_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "io/digest.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/nearest.h"
#include "kernels/patches.h"
#include "nn/llama_config.h"

namespace syrinx {
namespace {

constexpr int64_t kFramesBefore = 4;  // mel frames before a block that its convolutions need

/// Names of a block's parts, as in transformers.
constexpr WhisperBlockNames kGlmNames{.attention_norm = "self_attn_layer_norm",
                                      .q = "self_attn.q_proj",
                                      .k = "self_attn.k_proj",
                                      .v = "self_attn.v_proj",
                                      .o = "self_attn.out_proj",
                                      .mlp_norm = "final_layer_norm",
                                      .up = "fc1",
                                      .down = "fc2"};

}  // namespace

GlmSpeechConfig GlmSpeechConfig::load(const Config& c) {
  GlmSpeechConfig g;
  g.mels = c.i("num_mel_bins", 8, 512);
  g.width = c.i("d_model", 8, 1 << 13);
  g.layers = c.i("quantize_position", 1, 256);
  g.heads = c.i("encoder_attention_heads", 1, 512);
  g.ffn = c.i("encoder_ffn_dim", 1, 1 << 15);
  g.positions = c.i("max_source_positions", 1, 1 << 16);
  g.block = c.i("quantize_causal_block_size", 1, 1 << 16);
  g.pool = c.i("pooling_kernel_size", 1, 64);
  g.codes = c.i("quantize_vocab_size", 1, 1 << 20);
  head_size(c, "encoder_attention_heads", g.width, g.heads);
  c.check("pooling_position", c.i("pooling_position") == g.layers, "must be quantize_position");
  c.check("pooling_type", c.s("pooling_type") == "avg", "must be avg");
  c.check("pooling_kernel_size", g.block % g.pool == 0 && g.positions % g.pool == 0,
          "must divide the causal block size and max_source_positions");
  c.check("encoder_causal_convolution", c.opt_b("encoder_causal_convolution", false),
          "must be true");
  for (const char* key : {"encoder_causal_attention", "quantize_causal_encoder", "scale_embedding"})
    c.only(key, false);
  c.only("activation_function", "gelu");
  return g;
}

GlmSpeechTokenizer::GlmSpeechTokenizer(const GlmSpeechConfig& config, const Weights& weights,
                                       WeightType type)
    : config_(config),
      mel_(whisper_mel(static_cast<int>(config.mels))),
      conv1_(load_whisper_conv(weights.scope("conv1"), config.width, config.mels, type)),
      conv2_(load_whisper_conv(weights.scope("conv2"), config.width, config.width, type)),
      positions_(weights.f32("embed_positions.weight", {config.positions, config.width})),
      kv_type_(type == WeightType::kF32 ? DType::kF32 : DType::kF16) {
  for (int64_t i = 0; i < config.layers; ++i)
    layers_.emplace_back(weights.scope("layers", i), config.width, config.heads, config.ffn,
                         kGlmNames, type);
  // The distances between codes are small, so the codebook is kept in f32.
  const Tensor rows = weights.f32("codebook.weight", {config.codes, config.width});
  codebook_ = PackedLinear::pack(rows, WeightType::kF32);
  minus_power_ = Tensor({config.codes}, DType::kF32);
  for (int64_t i = 0; i < config.codes; ++i) {
    const float* row = rows.f32() + i * config.width;
    double power = 0;
    for (int64_t k = 0; k < config.width; ++k) power += double{row[k]} * row[k];
    minus_power_.f32()[i] = static_cast<float>(-power);
  }
  // Only training, or networks that read the codes, use these tensors.
  for (const char* name : {"ema_count", "ema_weight", "embed_positions2.weight"})
    weights.ignore(name);
}

void GlmSpeechTokenizer::move_to(Device device) {
  conv1_ = conv1_.on_device(device);
  conv2_ = conv2_.on_device(device);
  syrinx::move_to(device, positions_, layers_, codebook_, minus_power_);
  spares_ = std::make_shared<Spares>();
}

size_t GlmSpeechTokenizer::bytes() const {
  size_t sum = conv1_.bytes() + conv2_.bytes() + positions_.bytes() + codebook_.bytes();
  for (const WhisperBlock& layer : layers_) sum += layer.bytes();
  return sum;
}

int64_t GlmSpeechTokenizer::block_codes(int64_t number, int64_t samples) const {
  const int64_t all = config_.block / config_.pool;
  return std::clamp<int64_t>(count(samples) - number * all, 0, all);
}

size_t GlmSpeechTokenizer::State::bytes() const {
  // On a CPU, pages that were never written use no memory.
  const bool all = past_->pool.device() != Device::kCpu;
  const int64_t pages = all ? past_->pool.pages() : KvPool::pages_for(past_->rows);
  return static_cast<size_t>(pages) * KvPool::page_bytes(past_->pool.spec());
}

MelExtremes GlmSpeechTokenizer::extremes(std::span<const float> segment) const {
  SYRINX_CHECK(!segment.empty() && std::ssize(segment) <= segment_samples(), "[glm_tokenizer] ",
               segment.size(), " samples; expected 1 to ", segment_samples());
  std::vector<float> padded(segment.begin(), segment.end());
  padded.resize(static_cast<size_t>(count(std::ssize(segment)) * code_samples()));
  return mel_extremes(mel_, padded, std::ssize(padded) / mel_.options().hop, 2 * config_.block);
}

/// A block's key depends on the block, all earlier blocks, and half a window after the block, or
/// less at the end of the segment.
std::vector<uint64_t> GlmSpeechTokenizer::keys(std::span<const float> segment,
                                               const MelExtremes& extremes) const {
  std::vector<uint64_t> out;
  const int64_t length = std::ssize(segment);
  for (int64_t begin = 0; begin < length; begin += block_samples()) {
    const int64_t end = begin + block_samples() + kRowSamples;
    Digest digest;
    digest.number(out.empty() ? 0 : out.back());
    const bool floored = extremes.floored(out.size());
    digest.values(std::span(&extremes.loudest, floored ? 1 : 0));
    digest.values(segment.subspan(static_cast<size_t>(begin),
                                  static_cast<size_t>(std::min(end, length) - begin)));
    out.push_back(digest.key());
  }
  return out;
}

/// Memory of ended states on a GPU, for later states: freeing it would wait for all work on the
/// GPU.
struct GlmSpeechTokenizer::Spares {
  std::mutex mutex;
  std::vector<WhisperBlock::Past> pasts;
};

GlmSpeechTokenizer::State GlmSpeechTokenizer::open() const {
  std::optional<WhisperBlock::Past> past;
  if (spares_) {
    const std::lock_guard lock(spares_->mutex);
    if (!spares_->pasts.empty()) {
      past = std::move(spares_->pasts.back());
      spares_->pasts.pop_back();
      past->rows = 0;
    }
  }
  if (!past)
    past.emplace(config_.layers, config_.heads, config_.width / config_.heads, config_.positions,
                 kv_type_, device());
  State state;
  state.past_ = {new WhisperBlock::Past(std::move(*past)), [spares = spares_](auto* ended) {
                   const std::unique_ptr<WhisperBlock::Past> own(ended);
                   if (!spares) return;
                   const std::lock_guard lock(spares->mutex);
                   spares->pasts.push_back(std::move(*own));
                 }};
  return state;
}

/// Computes the mel frames from `first` on into out [.., M] in host memory, with zeros before the
/// segment.
void GlmSpeechTokenizer::make_mel(const Block& block, int64_t first, const View& out) const {
  const int64_t hop = mel_.options().hop, before = std::max<int64_t>(0, -first);
  const int64_t padded = count(block.length) * code_samples();
  std::vector<float> samples(block.samples.begin(), block.samples.end());
  // Zeros fill up the last code of the recording.
  if (block.offset + std::ssize(samples) >= block.length)
    samples.resize(static_cast<size_t>(padded - block.offset));
  std::fill_n(out.f32(), before * config_.mels, 0.f);
  const int64_t begin = first + before - block.offset / hop, end = first + out.shape[0];
  float* mel = out.f32() + before * config_.mels;
  mel_.run(samples, begin, end - block.offset / hop, mel);
  whisper_compress({mel, static_cast<size_t>((out.shape[0] - before) * config_.mels)},
                   block.loudest);
}

void GlmSpeechTokenizer::encode(StepContext& ctx, const Block& block, State& state,
                                std::span<int32_t> codes) const {
  const int64_t first = state.past_->rows, rows = std::ssize(codes) * config_.pool;
  SYRINX_CHECK(rows > 0 && first % config_.block == 0 && ctx.device == device() &&
                   std::ssize(codes) == block_codes(first / config_.block, block.length),
               "[glm_tokenizer] invalid block: ", codes.size(), " codes from row ", first, " of ",
               block.length, " samples");
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t frames = 2 * rows;
  const View mel = ctx.host.take({kFramesBefore + frames, config_.mels}, DType::kF32);
  const View inner = ctx.arena.take({2 + frames, config_.width}, DType::kF32);
  const View x = ctx.arena.take({rows, config_.width}, DType::kF32);
  make_mel(block, 2 * first - kFramesBefore, mel);
  conv1d(ctx, conv1_, upload(ctx, mel), inner);
  activate(ctx, Activation::kGelu, inner, inner);
  if (first == 0) {
    const CopySpan padding[] = {{nullptr, inner.f32(), 2 * config_.width}};  // no frames
    copy_spans(ctx, padding);
  }
  conv1d(ctx, conv2_, inner.slice(0, 1 + frames), x, 1, 2);
  activate(ctx, Activation::kGelu, x, x);
  add_inplace(ctx, x, positions_.view().slice(first, first + rows));
  // Rows beyond the end of the recording are excluded from attention, but are part of the mean of
  // their code.
  const int64_t there = (block.length + kRowSamples - 1) / kRowSamples;
  state.past_->rows += rows;
  const int64_t seen = std::min(there, state.past_->rows);
  for (size_t i = 0; i < layers_.size(); ++i)
    layers_[i].run(ctx, *state.past_, static_cast<int>(i), seen, x);
  quantize(ctx, x, codes);
}

void GlmSpeechTokenizer::quantize(StepContext& ctx, const View& x, std::span<int32_t> codes) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t count = std::ssize(codes);
  const View means = ctx.arena.take({count, config_.width}, DType::kF32);
  mean_rows(ctx, x, means);
  // The nearest row of the codebook has the largest 2 * product - power.
  const View scores = ctx.arena.take({count, config_.codes}, DType::kF32);
  linear(ctx, codebook_, means, scores);
  scale_inplace(ctx, scores, 2);
  add_bias_inplace(ctx, scores, minus_power_);
  const View found = ctx.arena.take({count, 1}, DType::kI32);
  take_largest(ctx, scores, found, 0);
  fetch(ctx, found, codes);
  synchronize(ctx);
}

}  // namespace syrinx
