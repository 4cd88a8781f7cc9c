#include "codec/moss_codec.h"

#include <algorithm>

#include "codec/moss_layers.h"
#include "kernels/embedding.h"

namespace syrinx {

MossCodec::MossCodec(const MossCodecConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  load_quantizer(weights.scope("quantizer"));
  moss::PatchOrder order;
  for (const MossBlock& block : config_.decoder) {
    blocks_.push_back(moss::load_block(block, weights.scope("decoder"), order, true, type,
                                       static_cast<int>(kPassFrames)));
    order = {block.out / block.patch, block.patch};
  }
}

/// Merges the linears of the codebooks with the linear after their sum.
void MossCodec::load_quantizer(const Weights& weights) {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim, width = config_.latent,
                rvq = config_.rvq;
  const moss::Pointwise outer = moss::load_residuals(config_, weights, "output_proj");
  Tensor all({width, q * dim}, DType::kF32);
  std::vector<double> constant(outer.bias.f32(), outer.bias.f32() + width), sum(dim);
  for (int64_t i = 0; i < q; ++i) {
    const Weights book = weights.scope("quantizers", i);
    codebooks_.push_back(book.scope("codebook").f32("weight", {config_.codebook_size, dim}));
    const moss::Pointwise inner = moss::load_pointwise(book.scope("out_proj"), dim, rvq);
    for (int64_t o = 0; o < width; ++o) {
      std::ranges::fill(sum, 0.0);
      for (int64_t h = 0; h < rvq; ++h) {
        const double factor = outer.weight.f32()[o * rvq + h];
        for (int64_t d = 0; d < dim; ++d) sum[d] += factor * inner.weight.f32()[h * dim + d];
        constant[o] += factor * inner.bias.f32()[h];
      }
      std::ranges::copy(sum, all.f32() + (o * q + i) * dim);
    }
  }
  Tensor bias({width}, DType::kF32);
  std::ranges::copy(constant, bias.f32());
  project_ = PackedLinear::pack(all, WeightType::kF32, bias);
}

CodecState MossCodec::open() const {
  CodecState state;
  for (const MossBlockNet& block : blocks_) state.kv.push_back(block.net.open());
  return state;
}

void MossCodec::run(StepContext& ctx, std::span<const CodecJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  for (const CodecJob& job : jobs) check_codes(job.codes, config_.codebook_size);
  const auto room = [&](CodecState& state) {
    int64_t left = kPassFrames;
    for (size_t b = 0; b < blocks_.size(); ++b)
      left = std::min(left, blocks_[b].net.room(ctx, state.kv[b]) / blocks_[b].rate);
    return left;
  };
  decode_frames(ctx, frame_jobs(ctx, jobs, config_.codebooks), config_.hop(), kPassFrames, room,
                [&](CodecPass& pass) {
                  View x = dequantise(ctx, jobs, pass);
                  for (size_t b = 0; b < blocks_.size(); ++b) {
                    x = moss::run_block(ctx, blocks_[b], x, pass.frames(),
                                        pass.rows(ctx, b, blocks_[b].rate));
                  }
                  return x;
                });
}

View MossCodec::dequantise(StepContext& ctx, std::span<const CodecJob> jobs,
                           const CodecPass& pass) const {
  const int64_t q = config_.codebooks, dim = config_.codebook_dim, n = pass.frames();
  const View latent = take_rows(ctx, n, config_.latent);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  // The entries of all codebooks follow one another as rows.
  const std::span<float> entries = take_array<float>(ctx, n * q * dim);
  for (const PassPart& part : pass.parts()) {
    const std::span<const int32_t> codes = jobs[part.job].codes.subspan(part.from * q);
    for (int64_t i = 0; i < part.frames * q; ++i) {
      const float* entry = codebooks_[static_cast<size_t>(i % q)].f32() + codes[i] * dim;
      std::copy_n(entry, dim, entries.data() + (part.begin * q + i) * dim);
    }
  }
  const View x = take_rows(ctx, n, q * dim);
  store(ctx, entries, x);
  linear(ctx, project_, x, latent);
  return latent;
}

void MossCodec::move_to(Device device) {
  syrinx::move_to(device, project_);
  for (MossBlockNet& block : blocks_) syrinx::move_to(device, block.in, block.net, block.out);
}

size_t MossCodec::bytes() const {
  size_t sum = weight_bytes(project_, codebooks_);
  for (const MossBlockNet& block : blocks_) sum += weight_bytes(block.in, block.net, block.out);
  return sum;
}

}  // namespace syrinx
