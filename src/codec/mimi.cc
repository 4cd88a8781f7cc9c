#include "codec/mimi.h"

#include <algorithm>

#include "codec/mimi_layers.h"
#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "nn/layers.h"

namespace syrinx {
namespace {

// Limit of frames per pass, over all streams. A frame needs a megabyte of scratch memory.
constexpr int64_t kPassFrames = 8;

}  // namespace

MimiLatentDecoder::MimiLatentDecoder(const MimiConfig& config, const Weights& weights,
                                     WeightType type)
    : config_(config) {
  const int64_t hidden = config_.hidden;
  const WeightType conv = for_convolution(type);
  const MimiNames& names = config_.names;
  const int64_t rate = config_.latent_rate;
  const View up = weights.scope(names.upsample).take("weight", {hidden, 1, 2 * rate});
  upsample_ = CausalConvTranspose1d(up, {}, rate, conv, 0, hidden);
  transformer_ = StreamDecoder(config_.transformer(), weights.scope(names.decoder_transformer),
                               type, static_cast<int>(kPassFrames * rate));
  const Weights layers = weights.scope("decoder").scope(names.layers);
  int64_t index = 0, width = config_.filters << config_.ratios.size();
  const auto next = [&](int64_t skip) { return layers.scope(std::to_string(index += skip)); };
  CausalConv1dOptions options;
  options.type = conv;
  head_ = mimi::load_conv(next(0), hidden, width, config_.taps, options);
  for (const int64_t ratio : config_.ratios) {
    const Weights raise = next(2).scope(names.raise);  // activations also have an index
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

CodecState MimiLatentDecoder::open() const {
  CodecState state;
  state.kv.push_back(transformer_.open());
  state.convs.push_back(upsample_.open());
  state.convs.push_back(head_.open());
  for (const Block& block : blocks_) {
    state.convs.push_back(block.up.open());
    for (const MimiResidualUnit& unit : block.units) state.convs.push_back(unit.conv.open());
  }
  state.convs.push_back(tail_.open());
  return state;
}

void MimiLatentDecoder::run(StepContext& ctx, std::span<const FrameJob> jobs,
                            Latents latents) const {
  decode_frames(
      ctx, jobs, config_.hop(), kPassFrames,
      [&](CodecState& state) {
        return transformer_.room(ctx, state.kv.front()) / config_.latent_rate;
      },
      [&](CodecPass& pass) { return run_pass(ctx, pass, latents(pass)); });
}

View MimiLatentDecoder::run_pass(StepContext& ctx, CodecPass& pass, const View& latent) const {
  View x = pass.run(ctx, upsample_, latent);
  transformer_.forward(ctx, x, pass.rows(ctx, 0, config_.latent_rate));
  x = pass.run(ctx, head_, x);
  for (const Block& block : blocks_) {
    activate(ctx, Activation::kElu, x, x);
    x = pass.run(ctx, block.up, x);
    for (const MimiResidualUnit& unit : block.units) mimi::run_unit(ctx, pass, unit, x);
  }
  activate(ctx, Activation::kElu, x, x);
  return pass.run(ctx, tail_, x);
}

MimiDecoder::MimiDecoder(const MimiConfig& config, const Weights& weights, WeightType type) {
  const Weights quantizer = weights.scope("quantizer");
  for (int64_t q = 0; q < config.codebooks; ++q) {
    codebooks_.push_back(mimi::load_codebook(config, quantizer, q));
  }
  for (const Tensor& table : codebooks_) tables_.push_back(table.view());
  const auto out = [&](const char* part) {
    return mimi::load_projection(quantizer.scope(part), "output_proj", config.codebook_dim,
                                 config.hidden, type);
  };
  semantic_out_ = out(mimi::kSemantic);
  acoustic_out_ = out(mimi::kAcoustic);
  network_ = MimiLatentDecoder(config, weights, type);
}

void MimiDecoder::run(StepContext& ctx, std::span<const CodecJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  for (const CodecJob& job : jobs) check_codes(job.codes, config().codebook_size);
  network_.run(ctx, frame_jobs(ctx, jobs, config().codebooks),
               [&](const CodecPass& pass) { return dequantise(ctx, jobs, pass); });
}

View MimiDecoder::dequantise(StepContext& ctx, std::span<const CodecJob> jobs,
                             const CodecPass& pass) const {
  const int64_t q = config().codebooks, first = config().semantic, rest = q - first;
  const int64_t n = pass.frames();
  const View latent = take_rows(ctx, n, config().hidden);
  const Arena::Mark mark(ctx.arena);
  std::span<int32_t> semantic = take_array<int32_t>(ctx, n * first);
  std::span<int32_t> acoustic = take_array<int32_t>(ctx, n * rest);
  for (const PassPart& part : pass.parts()) {
    for (int64_t t = 0; t < part.frames; ++t) {
      const auto codes = jobs[part.job].codes.begin() + (part.from + t) * q;
      std::copy_n(codes, first, semantic.begin() + (part.begin + t) * first);
      std::copy_n(codes + first, rest, acoustic.begin() + (part.begin + t) * rest);
    }
  }
  const View sum = take_rows(ctx, n, config().codebook_dim);
  embed_sum(ctx, std::span(tables_).first(first), semantic, sum);
  linear(ctx, semantic_out_, sum, latent);
  embed_sum(ctx, std::span(tables_).subspan(first), acoustic, sum);
  linear_add(ctx, acoustic_out_, sum, latent);
  return latent;
}

void MimiDecoder::move_to(Device device) {
  syrinx::move_to(device, codebooks_, semantic_out_, acoustic_out_, network_);
  tables_.assign(codebooks_.begin(), codebooks_.end());
}

size_t MimiDecoder::bytes() const {
  return weight_bytes(semantic_out_, acoustic_out_, network_, codebooks_);
}

void MimiLatentDecoder::move_to(Device device) {
  syrinx::move_to(device, upsample_, transformer_, head_, tail_);
  for (Block& block : blocks_) {
    block.up.move_to(device);
    for (MimiResidualUnit& unit : block.units) syrinx::move_to(device, unit.conv, unit.mix);
  }
}

size_t MimiLatentDecoder::bytes() const {
  size_t sum = upsample_.bytes() + transformer_.bytes() + head_.bytes() + tail_.bytes();
  for (const Block& block : blocks_) {
    sum += block.up.bytes();
    for (const MimiResidualUnit& unit : block.units) sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

}  // namespace syrinx
