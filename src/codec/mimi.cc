#include "codec/mimi.h"

#include <algorithm>

#include "codec/mimi_layers.h"
#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "nn/layers.h"

namespace syrinx {
namespace {

constexpr int64_t kPassFrames = 8;  // frames of all streams in a pass; 1 MB of scratch each
constexpr int64_t kRate = MimiConfig::kLatentRate;

}  // namespace

MimiDecoder::MimiDecoder(const MimiConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  load_quantizer(weights.scope("quantizer"), type);
  load_network(weights, type);
}

void MimiDecoder::load_quantizer(const Weights& weights, WeightType type) {
  for (int64_t q = 0; q < config_.codebooks; ++q) {
    codebooks_.push_back(mimi::load_codebook(config_, weights, q));
  }
  for (const Tensor& table : codebooks_) tables_.push_back(table.view());
  const auto out = [&](const char* part) {
    return mimi::load_projection(weights.scope(part), "output_proj", config_.codebook_dim,
                                 config_.hidden, type);
  };
  semantic_out_ = out(mimi::kSemantic);
  acoustic_out_ = out(mimi::kAcoustic);
}

void MimiDecoder::load_network(const Weights& weights, WeightType type) {
  const int64_t hidden = config_.hidden;
  const WeightType conv = for_convolution(type);
  const View up = weights.scope("upsample.conv").take("weight", {hidden, 1, 2 * kRate});
  upsample_ = CausalConvTranspose1d(up, {}, kRate, conv, 0, hidden);
  transformer_ = StreamDecoder(config_.transformer(), weights.scope("decoder_transformer"), type,
                               static_cast<int>(kPassFrames * kRate));
  const Weights layers = weights.scope("decoder.layers");
  int64_t index = 0, width = config_.filters << config_.ratios.size();
  const auto next = [&](int64_t skip) { return layers.scope(std::to_string(index += skip)); };
  CausalConv1dOptions options;
  options.type = conv;
  head_ = mimi::load_conv(next(0), hidden, width, config_.taps, options);
  for (const int64_t ratio : config_.ratios) {
    const Weights raise = next(2).scope("conv");  // an activation counts as a module, too
    Block block;
    block.up = {raise.take("weight", {width, width / 2, 2 * ratio}),
                raise.take("bias", {width / 2}), ratio, conv};
    width /= 2;
    for (int64_t i = 0; i < config_.residual_layers; ++i) {
      block.units.push_back(mimi::load_unit(config_, next(1), width, i, type));
    }
    blocks_.push_back(std::move(block));
  }
  tail_ = mimi::load_conv(next(2), width, 1, config_.last_taps, options);
}

MimiState MimiDecoder::open() const {
  MimiState state;
  state.kv_ = transformer_.open();
  state.convs_.push_back(upsample_.open());
  state.convs_.push_back(head_.open());
  for (const Block& block : blocks_) {
    state.convs_.push_back(block.up.open());
    for (const MimiResidualUnit& unit : block.units) state.convs_.push_back(unit.conv.open());
  }
  state.convs_.push_back(tail_.open());
  return state;
}

void MimiDecoder::run(StepContext& ctx, std::span<const MimiJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t q = config_.codebooks;
  std::span<int64_t> frames = take_array<int64_t>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const MimiJob& job = jobs[i];
    for (const int32_t code : job.codes) {
      SYRINX_CHECK(code >= 0 && code < config_.codebook_size, "mimi: code ", code);
    }
    frames[i] = static_cast<int64_t>(job.codes.size()) / q;
    SYRINX_CHECK(static_cast<int64_t>(job.codes.size()) == frames[i] * q &&
                     static_cast<int64_t>(job.out.size()) == frames[i] * config_.hop(),
                 "mimi: ", job.codes.size(), " codes and ", job.out.size(), " samples");
  }
  run_passes(
      ctx, frames, kPassFrames,
      [&](size_t job) { return transformer_.room(ctx, jobs[job].state->kv_) / kRate; },
      [&](std::span<const PassPart> parts) { run_pass(ctx, jobs, parts); });
}

void MimiDecoder::run_pass(StepContext& ctx, std::span<const MimiJob> jobs,
                           std::span<const PassPart> parts) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  StreamPass pass(ctx, parts,
                  [&](size_t i) { return std::span<ConvState>(jobs[parts[i].job].state->convs_); });
  View x = pass.run(ctx, upsample_, dequantise(ctx, jobs, parts));
  std::span<StreamRows> rows = take_array<StreamRows>(ctx, std::ssize(parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    rows[i] = {&jobs[parts[i].job].state->kv_, parts[i].frames * kRate};
  }
  transformer_.forward(ctx, x, rows);
  x = pass.run(ctx, head_, x);
  for (const Block& block : blocks_) {
    activate(ctx, Activation::kElu, x, x);
    x = pass.run(ctx, block.up, x);
    for (const MimiResidualUnit& unit : block.units) mimi::run_unit(ctx, pass, unit, x);
  }
  activate(ctx, Activation::kElu, x, x);
  x = pass.run(ctx, tail_, x);
  const int64_t hop = config_.hop();
  for (const PassPart& part : parts) {
    const View samples = x.slice(part.begin * hop, (part.begin + part.frames) * hop);
    fetch(ctx, samples, jobs[part.job].out.subspan(part.from * hop, part.frames * hop));
    jobs[part.job].state->frames_ += part.frames;
  }
}

View MimiDecoder::dequantise(StepContext& ctx, std::span<const MimiJob> jobs,
                             std::span<const PassPart> parts) const {
  const int64_t q = config_.codebooks, first = config_.semantic, rest = q - first;
  int64_t n = 0;
  for (const PassPart& part : parts) n += part.frames;
  const View latent = take_rows(ctx, n, config_.hidden);
  const Arena::Mark mark(ctx.arena);
  std::span<int32_t> semantic = take_array<int32_t>(ctx, n * first);
  std::span<int32_t> acoustic = take_array<int32_t>(ctx, n * rest);
  for (const PassPart& part : parts) {
    for (int64_t t = 0; t < part.frames; ++t) {
      const auto codes = jobs[part.job].codes.begin() + (part.from + t) * q;
      std::copy_n(codes, first, semantic.begin() + (part.begin + t) * first);
      std::copy_n(codes + first, rest, acoustic.begin() + (part.begin + t) * rest);
    }
  }
  const View sum = take_rows(ctx, n, config_.codebook_dim);
  embed_sum(ctx, std::span(tables_).first(first), semantic, sum);
  linear(ctx, semantic_out_, sum, latent);
  embed_sum(ctx, std::span(tables_).subspan(first), acoustic, sum);
  linear_add(ctx, acoustic_out_, sum, latent);
  return latent;
}

void MimiDecoder::move_to(Device device) {
  for (Tensor& table : codebooks_) syrinx::move_to(device, table);
  tables_.assign(codebooks_.begin(), codebooks_.end());
  syrinx::move_to(device, semantic_out_);
  syrinx::move_to(device, acoustic_out_);
  upsample_.move_to(device);
  transformer_.move_to(device);
  head_.move_to(device);
  tail_.move_to(device);
  for (Block& block : blocks_) {
    block.up.move_to(device);
    for (MimiResidualUnit& unit : block.units) {
      unit.conv.move_to(device);
      syrinx::move_to(device, unit.mix);
    }
  }
}

size_t MimiDecoder::bytes() const {
  size_t sum = semantic_out_.bytes() + acoustic_out_.bytes() + upsample_.bytes() +
               transformer_.bytes() + head_.bytes() + tail_.bytes();
  for (const Tensor& table : codebooks_) sum += table.bytes();
  for (const Block& block : blocks_) {
    sum += block.up.bytes();
    for (const MimiResidualUnit& unit : block.units) sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

size_t MimiDecoder::state_bytes() const {
  size_t sum = transformer_.state_bytes();
  for (const ConvState& conv : open().convs_) sum += conv.past.bytes();
  return sum;
}

}  // namespace syrinx
