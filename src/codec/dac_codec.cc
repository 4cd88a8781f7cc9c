#include "codec/dac_codec.h"

#include <algorithm>

#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx {

DacCodec::DacCodec(const DacCodecConfig& config, const Weights& weights, WeightType type)
    : config_(config), decoder_(config.decoder, weights.scope("decoder"), type) {
  // The sum over codebooks of W e + b is one product with the concatenated entries of a frame.
  const int64_t q = config.codebooks, dim = config.codebook_dim, width = config.decoder.latent;
  std::vector<Tensor> parts, biases;
  for (int64_t i = 0; i < q; ++i) {
    const Weights quantizer = weights.scope("quantizer").scope("quantizers", i);
    codebooks_.push_back(quantizer.scope("codebook").f32("weight", {config.codebook_size, dim}));
    const Weights out = quantizer.scope("out_proj");
    parts.push_back(folded_weight(out, {width, dim, 1}));
    biases.push_back(out.f32("bias", {width}));
    quantizer.ignore("in_proj.*");  // used only by the encoder
  }
  Tensor all({width, q * dim}, DType::kF32), bias({width}, DType::kF32);
  for (int64_t i = 0; i < q; ++i) {
    for (int64_t o = 0; o < width; ++o) {
      std::copy_n(parts[i].f32() + o * dim, dim, all.f32() + o * q * dim + i * dim);
      bias.f32()[o] += biases[i].f32()[o];
    }
  }
  project_ = PackedLinear::pack(all, type, bias);
}

DacCodec::DacCodec(const DacCodecConfig& config, std::vector<Tensor> codebooks,
                   PackedLinear project, DacDecoder decoder)
    : config_(config),
      codebooks_(std::move(codebooks)),
      project_(std::move(project)),
      decoder_(std::move(decoder)) {}

DacCodecState DacCodec::open(uint64_t seed) const {
  DacCodecState state;
  state.decoder_ = decoder_.open(seed);
  state.ready_.reserve((config_.lookahead() + 1) * config_.hop());
  return state;
}

void DacCodec::move_to(Device device) { syrinx::move_to(device, project_, decoder_); }

size_t DacCodec::bytes() const { return weight_bytes(project_, decoder_, codebooks_); }

View DacCodec::dequantise(StepContext& ctx, std::span<const int32_t> codes) const {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim;
  const auto frames = static_cast<int64_t>(codes.size()) / q;
  const View latent = ctx.arena.take({frames, config_.decoder.latent}, DType::kF32);
  if (frames == 0) return latent;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View entries = ctx.host.take({frames, q * dim}, DType::kF32);
  float* to = entries.f32();
  for (size_t i = 0; i < codes.size(); ++i) {
    SYRINX_CHECK(codes[i] >= 0 && codes[i] < config_.codebook_size, "[dac_codec] code ", codes[i],
                 " must be below ", config_.codebook_size);
    to = std::copy_n(codebooks_[i % q].f32() + codes[i] * dim, dim, to);
  }
  linear(ctx, project_, upload(ctx, entries), latent);
  return latent;
}

void DacCodec::run(StepContext& ctx, std::span<const DacCodecJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t q = config_.codebooks, hop = config_.hop();
  const std::span<DacDecoderJob> inner = take_array<DacDecoderJob>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const DacCodecJob& job = jobs[i];
    DacCodecState& state = *job.state;
    const auto window = static_cast<int64_t>(job.codes.size()) / q;
    const int64_t fresh = std::max<int64_t>(0, state.taken_ + window - state.fed_);
    SYRINX_CHECK(window * q == static_cast<int64_t>(job.codes.size()) && job.fresh <= window &&
                     static_cast<int64_t>(job.out.size()) == job.fresh * hop &&
                     (job.last || job.fresh == 0 || window - job.fresh >= config_.lookahead()),
                 "[dac_codec] sizes do not match: ", job.codes.size(), " codes, ", job.fresh,
                 " fresh frames, ", job.out.size(), " samples");
    SYRINX_CHECK(!state.ended_ || fresh == 0, "[dac_codec] frames follow the last frame");
    const bool last = job.last && !state.ended_;
    const int64_t samples = decoder_.samples(state.fed_, fresh, last);
    inner[i] = {&state.decoder_, dequantise(ctx, job.codes.last(fresh * q)),
                ctx.arena.take({samples}, DType::kF32), last};
    state.fed_ += fresh;
    state.ended_ |= job.last;
  }
  decoder_.run(ctx, inner);
  if (ctx.device != Device::kCpu) {
    for (DacDecoderJob& job : inner) {
      const View host = ctx.host.take(job.out.shape, DType::kF32);
      fetch(ctx, job.out, {host.f32(), static_cast<size_t>(host.count())});
      job.out = host;
    }
    synchronize(ctx);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    DacCodecState& state = *jobs[i].state;
    const std::span<float> out = jobs[i].out;
    const float* made = inner[i].out.f32();
    const int64_t count = inner[i].out.count();
    const size_t kept = std::min(state.ready_.size(), out.size()), rest = out.size() - kept;
    std::copy_n(state.ready_.begin(), kept, out.begin());
    state.ready_.erase(state.ready_.begin(), state.ready_.begin() + static_cast<int64_t>(kept));
    std::copy_n(made, rest, out.begin() + static_cast<int64_t>(kept));
    state.ready_.insert(state.ready_.end(), made + rest, made + count);
    state.taken_ += jobs[i].fresh;
  }
}

}  // namespace syrinx
