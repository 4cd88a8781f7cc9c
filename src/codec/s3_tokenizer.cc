#include "codec/s3_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "io/onnx_weights.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr WeightType kType = WeightType::kF32;
constexpr int kHeadDim = 64, kMemoryTaps = 31, kDigits = 8;
constexpr int64_t kRows = 32;        // rows per piece of a block
constexpr int64_t kConvRows = 128;   // rows per piece of a convolution
constexpr int64_t kMelFrames = 500;  // mel frames per piece
constexpr int64_t kMaxPositions = 1 << 11;

int64_t halved(int64_t rows) { return (rows - 1) / 2 + 1; }

/// Returns dimension `dim` of a tensor, or `published` if the tensor is missing; the layer that
/// loads the tensor then reports the error.
int64_t stored_size(const Weights& weights, const std::string& name, int dim, int64_t published) {
  const std::optional<Shape> shape = weights.shape(name);
  const bool known = shape && dim < shape->dims() && (*shape)[dim] > 0 && (*shape)[dim] <= 1 << 14;
  return known ? (*shape)[dim] : published;
}

/// Returns 1 + the index of the last block that has a tensor. It tries each name, because an ONNX
/// graph cannot list tensors by module names. Returns the published 6 if no block has a tensor: all
/// tensors are then missing or random.
int64_t count_blocks(const Weights& encoder) {
  constexpr int64_t kPublished = 6, kMost = 64;
  constexpr std::array kParts{"attn_ln", "attn.query", "attn.key",        "attn.value", "attn.out",
                              "mlp_ln",  "mlp.0",      "attn.fsmn_block", "mlp.2"};
  int64_t blocks = 0;
  for (int64_t i = 0; i < kMost; ++i) {
    for (const char* part : kParts) {
      const Weights w = encoder.scope("blocks", i).scope(part);
      if (w.has("weight") || w.has("bias")) blocks = i + 1;
    }
  }
  return blocks > 0 ? blocks : kPublished;
}

PackedConv1d load_conv(const Weights& weights, int64_t out, int64_t in) {
  return PackedConv1d::pack(weights.take("weight", {out, in, 3}), weights.take("bias", {out}));
}

}  // namespace

S3Tokenizer::Block::Block(const Weights& weights, int64_t width)
    : before_attention(weights.scope("attn_ln"), width, 1e-6f),
      before_mlp(weights.scope("mlp_ln"), width, 1e-5f) {
  const Weights attention = weights.scope("attn");
  const std::array parts{take_linear(attention, "query", width, width, true),
                         take_linear(attention, "key", width, width, false),
                         take_linear(attention, "value", width, width, true)};
  qkv = PackedLinear::pack(parts, kType);
  out = load_linear(attention, "out", width, width, true, kType);
  memory =
      PackedConv1d::pack(attention.take("fsmn_block.weight", {width, 1, kMemoryTaps}), {}, width);
  up = load_linear(weights, "mlp.0", 4 * width, width, true, kType);
  down = load_linear(weights, "mlp.2", width, 4 * width, true, kType);
}

S3Tokenizer::S3Tokenizer(const Weights& weights)
    : width_(stored_size(weights, "encoder.conv1.weight", 0, 1280)),
      mel_(whisper_mel(static_cast<int>(stored_size(weights, "encoder.conv1.weight", 1, 128)))) {
  heads_ = static_cast<int>(std::max<int64_t>(1, width_ / kHeadDim));
  if (width_ % kHeadDim != 0)
    weights.fault("encoder.conv1.weight", "expected a width that is a multiple of 64");
  width_ = int64_t{heads_} * kHeadDim;
  const Weights encoder = weights.scope("encoder");
  conv1_ = load_conv(encoder.scope("conv1"), width_, mel_.mels());
  conv2_ = load_conv(encoder.scope("conv2"), width_, width_);
  const int64_t layers = count_blocks(encoder);
  for (int64_t i = 0; i < layers; ++i) blocks_.emplace_back(encoder.scope("blocks", i), width_);
  rope_ = RopeTable({.dim = kHeadDim}, kMaxPositions);
  down_ = load_linear(weights, "quantizer._codebook.project_down", kDigits, width_, true, kType);
}

size_t S3Tokenizer::bytes() const {
  size_t sum = conv1_.bytes() + conv2_.bytes() + down_.bytes();
  for (const Block& b : blocks_) {
    sum += b.qkv.bytes() + b.out.bytes() + b.up.bytes() + b.down.bytes() + b.memory.bytes();
  }
  return sum;
}

int64_t S3Tokenizer::count(int64_t samples) const {
  const int64_t frames = mel_.frames(samples) - 1;
  return frames < 1 ? 0 : halved(halved(frames));
}

S3Tokenizer::Work S3Tokenizer::open(std::span<const float> samples) const {
  const auto size = static_cast<int64_t>(samples.size());
  const int64_t frames = mel_.frames(size) - 1, tokens = count(size);
  SYRINX_CHECK(tokens > 0 && static_cast<double>(size) <= kMaxSeconds * kSampleRate,
               "[s3_tokenizer] expected up to 30 s of audio, got ", size, " samples");
  Work work;
  work.samples_.assign(samples.begin(), samples.end());
  work.mel_ = Tensor({frames + 2, mel_.mels()}, DType::kF32);
  work.half_ = Tensor({halved(frames) + 2, width_}, DType::kF32);
  work.x_ = Tensor({tokens, width_}, DType::kF32);
  work.queries_ = Tensor({tokens, width_}, DType::kF32);
  work.values_ = Tensor({tokens + kMemoryTaps - 1, width_}, DType::kF32);
  const int64_t pages = KvPool::pages_for(tokens);
  work.kv_ = KvPool({1, heads_, kHeadDim, DType::kF32}, pages);
  work.pages_.resize(static_cast<size_t>(pages));
  std::iota(work.pages_.begin(), work.pages_.end(), 0);
  return work;
}

void S3Tokenizer::run(StepContext& ctx, Work& work) const {
  const Arena::Mark mark(ctx.arena);
  switch (work.stage_) {
    case Work::kMel:
      return make_mel(work);
    case Work::kConv1:
      return convolve(ctx, conv1_, work.mel_, work.half_.view().slice(1, work.half_.shape()[0] - 1),
                      work);
    case Work::kConv2:
      return convolve(ctx, conv2_, work.half_, work.x_, work);
    case Work::kProject:
      return project(ctx, work);
    case Work::kMix:
      return mix(ctx, work);
    case Work::kQuantise:
      return quantise(ctx, work);
    case Work::kDone:
      break;
  }
  SYRINX_CHECK(false, "[s3_tokenizer] run() was called for finished work");
}

void S3Tokenizer::make_mel(Work& work) const {
  const int64_t frames = work.mel_.shape()[0] - 2, end = std::min(work.row_ + kMelFrames, frames);
  float* rows = work.mel_.f32() + mel_.mels();
  mel_.run(work.samples_, work.row_, end, rows + work.row_ * mel_.mels());
  work.row_ = end;
  if (end < frames) return;
  whisper_compress({rows, static_cast<size_t>(frames * mel_.mels())});
  work.stage_ = Work::kConv1, work.row_ = 0;
}

/// Runs a convolution. `from` has a row of zeros at both ends.
void S3Tokenizer::convolve(StepContext& ctx, const PackedConv1d& conv, const View& from,
                           const View& to, Work& work) const {
  const int64_t begin = work.row_, end = std::min(begin + kConvRows, to.shape[0]);
  const View out = to.slice(begin, end);
  conv1d(ctx, conv, from.slice(2 * begin, 2 * end + 1), out, 1, 2);
  activate(ctx, Activation::kGelu, out, out);
  work.row_ = end;
  if (end < to.shape[0]) return;
  work.stage_ = work.stage_ == Work::kConv1 ? Work::kConv2 : Work::kProject, work.row_ = 0;
}

void S3Tokenizer::project(StepContext& ctx, Work& work) const {
  const int64_t total = work.x_.shape()[0], begin = work.row_;
  const int64_t end = std::min(begin + kRows, total), rows = end - begin;
  const Block& block = blocks_[static_cast<size_t>(work.layer_)];
  const View normed = ctx.arena.take({rows, width_}, DType::kF32);
  const View keys = ctx.arena.take({rows, width_}, DType::kF32);
  const View queries = work.queries_.view().slice(begin, end);
  const View values = work.values_.view().slice(begin + kMemoryTaps / 2, end + kMemoryTaps / 2);
  block.before_attention(ctx, work.x_.view().slice(begin, end), normed);
  const std::array outs{queries, keys, values};
  linear_parts(ctx, block.qkv, normed, outs);
  std::array<int32_t, kRows> positions{};
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(begin));
  const std::span at(positions.data(), static_cast<size_t>(rows));
  rope(ctx, all_heads(queries, heads_), at, rope_);
  rope(ctx, all_heads(keys, heads_), at, rope_);
  const std::array<int32_t, 2> row_begin{0, static_cast<int32_t>(rows)};
  const std::array<int32_t, 1> kv_len{static_cast<int32_t>(end)};
  const Ragged ragged{row_begin, kv_len, work.pages_, static_cast<int>(work.pages_.size())};
  write_kv(ctx, all_heads(keys, heads_), all_heads(values, heads_), work.kv_, 0, ragged);
  work.row_ = end;
  if (end == total) work.stage_ = Work::kMix, work.row_ = 0;
}

void S3Tokenizer::mix(StepContext& ctx, Work& work) const {
  const int64_t total = work.x_.shape()[0], begin = work.row_;
  const int64_t end = std::min(begin + kRows, total), rows = end - begin;
  const Block& block = blocks_[static_cast<size_t>(work.layer_)];
  const View x = work.x_.view().slice(begin, end);
  const View seen = ctx.arena.take({rows, width_}, DType::kF32);
  const View memory = ctx.arena.take({rows, width_}, DType::kF32);
  const View wide = ctx.arena.take({rows, 4 * width_}, DType::kF32);
  const std::array<int32_t, 2> row_begin{0, static_cast<int32_t>(rows)};
  const std::array<int32_t, 1> kv_len{static_cast<int32_t>(total)};
  const Ragged ragged{row_begin, kv_len, work.pages_, static_cast<int>(work.pages_.size())};
  AttentionSpec spec;
  spec.scale = 1 / std::sqrt(static_cast<float>(kHeadDim));
  spec.causal = false;
  paged_attention(ctx, all_heads(work.queries_.view().slice(begin, end), heads_), work.kv_, 0,
                  ragged, spec, seen);
  conv1d(ctx, block.memory, work.values_.view().slice(begin, end + kMemoryTaps - 1), memory);
  add_inplace(ctx, memory,
              work.values_.view().slice(begin + kMemoryTaps / 2, end + kMemoryTaps / 2));
  linear_add(ctx, block.out, seen, x);
  add_inplace(ctx, x, memory);
  block.before_mlp(ctx, x, seen);
  linear(ctx, block.up, seen, wide);
  activate(ctx, Activation::kGelu, wide, wide);
  linear_add(ctx, block.down, wide, x);
  work.row_ = end;
  if (end < total) return;
  work.row_ = 0, ++work.layer_;
  work.stage_ = work.layer_ < layers() ? Work::kProject : Work::kQuantise;
}

void S3Tokenizer::quantise(StepContext& ctx, Work& work) const {
  const int64_t total = work.x_.shape()[0];
  const View digits = ctx.arena.take({total, kDigits}, DType::kF32);
  linear(ctx, down_, work.x_, digits);
  for (int64_t i = 0; i < total; ++i) {
    int32_t token = 0, power = 1;
    for (int64_t k = 0; k < kDigits; ++k, power *= 3) {
      // The authors round half to even, so 0.5 becomes 0. The factor is the authors'.
      const float h = std::tanh(digits.f32()[i * kDigits + k]) * 0.9990000128746033f;
      token += power * (h > 0.5f ? 2 : h < -0.5f ? 0 : 1);
    }
    work.tokens_.push_back(token);
  }
  work.stage_ = Work::kDone;
}

std::unique_ptr<WeightSource> open_s3_tokenizer_onnx(const std::string& path) {
  // The ONNX exporter made these names: s3tokenizer:s3tokenizer/utils.py, onnx2torch{,_v3}.
  return open_onnx_weights(path, [](const std::string& name) -> std::vector<std::string> {
    const std::string quantizer = "quantizer._codebook.project_down.";
    if (name == "encoder.conv1.weight")
      return {"encoders.conv1.weight", "onnx::Conv_2216", "conv1.weight"};
    if (name == "encoder.conv1.bias")
      return {"encoders.conv1.bias", "onnx::Conv_2217", "conv1.bias"};
    if (name == "encoder.conv2.weight")
      return {"encoders.conv2.weight", "onnx::Conv_2218", "conv2.weight"};
    if (name == "encoder.conv2.bias")
      return {"encoders.conv2.bias", "onnx::Conv_2219", "conv2.bias"};
    if (name == quantizer + "weight") return {"quantizer.project_in.weight", "onnx::MatMul_2536"};
    if (name == quantizer + "bias") return {"quantizer.project_in.bias"};
    const std::string blocks = "encoder.";
    if (!name.starts_with(blocks + "blocks.")) return {name};
    const std::string own = name.substr(blocks.size());
    if (own.ends_with("_ln.weight")) return {own, own.substr(0, own.size() - 6) + "scale"};
    return {own};
  });
}

}  // namespace syrinx
