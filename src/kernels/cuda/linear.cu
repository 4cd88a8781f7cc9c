// Chooses the product for a linear: see docs/decisions/0005-cuda-kernels.md.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/gemm_out.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {
namespace {

void by_tiles(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out) {
  const Arena::Mark mark(ctx.arena);
  const TileCall::Segment all{x.f32(), nullptr, x.shape[0], 0};
  TileCall call;
  call.weight = w.data.view().data;
  call.rows = w.panels() * PackedMatrix::kPanel;
  call.k = call.x_stride = call.span_len = w.k;
  call.padded_k = matrix_padded_k(w.k);
  call.segments = upload(ctx, std::span(&all, 1));
  call.segment_count = 1;
  call.tiles = (x.shape[0] + kTileRows - 1) / kTileRows;
  call.out = out;
  tile_gemm(ctx, call);
}

}  // namespace

void linear(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out,
            const GemmNorm& norm) {
  if (x.shape[0] == 0) return;
  if (w.type == WeightType::kF32) return by_tiles(ctx, w, x, out);
  const WideTile tile = wide_tile(w, x.shape[0]);
  if (tile != WideTile::kNone) return wide_gemm(ctx, w, x, out, norm, tile);
  skinny_gemm(ctx, w, x, out, norm);
}

}  // namespace syrinx::cuda
