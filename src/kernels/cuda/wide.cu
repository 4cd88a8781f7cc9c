// Launches the kernels of wide.cuh, after norming or rounding the activations.
#include <cstdlib>
#include <string_view>

#include "kernels/cuda/products.h"
#include "kernels/cuda/wide.cuh"

namespace syrinx::cuda {
namespace {

template <int kPanels, int kTiles, bool kQ8>
void go(StepContext& ctx, const WideCall& call) {
  using Shape = WideShape<kPanels, kTiles, kQ8>;
  const unsigned blocks = gpu::blocks_for(call.rows, Shape::kOuts);
  SYRINX_CHECK(blocks <= 65535, "[linear] ", call.rows, " rows need too many blocks for a grid");
  gpu::launch("linear", wide<kPanels, kTiles, kQ8>,
              dim3(gpu::blocks_for(call.n, Shape::kRows), blocks), kWideThreads, Shape::kBytes,
              stream_of(ctx), call);
}

template <bool kQ8>
void choose(StepContext& ctx, const WideCall& call, WideTile tile) {
  // With 8 bits, 128 outputs a block would need too many registers.
  constexpr int kPanels = kQ8 ? 2 : 4;
  // Some chips have less shared memory than the large tile needs.
  if (tile == WideTile::kLarge &&
      WideShape<kPanels, 4, kQ8>::kBytes <= limits_of(ctx.device).shared)
    return go<kPanels, 4, kQ8>(ctx, call);
  go<2, 2, kQ8>(ctx, call);
}

}  // namespace

WideTile wide_tile(const PackedMatrix& w, int64_t n) {
  const int64_t rows = w.panels() * PackedMatrix::kPanel;
  if (n <= kMostNarrowRows || skinny_split(rows, matrix_padded_k(w.k)) > 1) return WideTile::kNone;
  if (const char* value = std::getenv("SYRINX_GPU_PRODUCTS")) {
    const std::string_view wanted(value);
    if (wanted == "narrow") return WideTile::kNone;
    if (wanted == "small") return WideTile::kSmall;
    if (wanted == "large") return WideTile::kLarge;
  }
  const int64_t blocks = int64_t{gpu::blocks_for(rows, 128)} * gpu::blocks_for(n, 128);
  return blocks >= kFewBlocks ? WideTile::kLarge : WideTile::kSmall;
}

void wide_gemm(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out,
               const GemmNorm& norm, WideTile tile) {
  const Arena::Mark mark(ctx.arena);
  WideCall call;
  call.rows = w.panels() * PackedMatrix::kPanel;
  call.padded_k = matrix_padded_k(w.k);
  call.n = x.shape[0];
  call.weight = w.data.view().data;
  call.out = out;
  if (norm.weight) {
    const View normed = ctx.arena.take(x.shape, DType::kBF16);
    const View weight{const_cast<float*>(norm.weight), DType::kF32, {w.k}, ctx.device};
    cuda::rms_norm(ctx, x, {}, weight, norm.eps, normed);
    call.x = normed.bf16();
  } else {
    call.x = x.dtype == DType::kBF16 ? x.bf16() : round_to_bf16(ctx, x, call.padded_k);
  }
  if (w.type != WeightType::kQ8) return choose<false>(ctx, call, tile);
  call.scales = reinterpret_cast<const uint16_t*>(static_cast<const char*>(call.weight) +
                                                  call.rows * call.padded_k);
  choose<true>(ctx, call, tile);
}

}  // namespace syrinx::cuda
