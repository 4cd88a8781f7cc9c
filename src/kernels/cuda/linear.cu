// Which product a linear takes: see docs/decisions/0005-cuda-kernels.md.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/gemm_out.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {
namespace {

// From this many rows on the library's product is the faster one, by the number of times that the
// small-batch one reads the weights; measured figures belong here once there are some.
constexpr int64_t kLibraryRows = 65;

/// sums [N, rows] to where they belong.
struct Scatter {
  const float* sums;
  int64_t rows;
  GemmOut out;
  __device__ void operator()(int64_t i) const {
    const auto row = static_cast<int>(i % rows);
    if (out.store != GemmOut::Store::kSiluGate) {
      put(out, nullptr, i / rows, row, sums[i]);
    } else if (row % 32 < 16) {
      put_gated(out, i / rows, row, sums[i], sums[i + 16]);
    }
  }
};

void by_library(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out) {
  const Arena::Mark mark(ctx.arena);
  const int64_t n = x.shape[0], rows = w.panels() * PackedMatrix::kPanel;
  const uint16_t* rounded = round_to_bf16(ctx, x, matrix_padded_k(w.k));
  const GemmOut::Part& part = out.parts[0];
  const bool direct = out.count == 1 && !out.bias && out.store != GemmOut::Store::kSiluGate &&
                      part.width % 4 == 0 && part.stride % 4 == 0 && part.column == 0;
  if (direct) {
    library_gemm(ctx, w, rounded, n, part.out, part.stride, part.width,
                 out.store == GemmOut::Store::kAdd);
    return;
  }
  auto* sums = take<float>(ctx, n * rows);
  library_gemm(ctx, w, rounded, n, sums, rows, rows, false);
  for_each(ctx, "linear_scatter", n * rows, Scatter{sums, rows, out});
}

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

void linear(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out) {
  if (x.shape[0] == 0) return;
  if (w.type == WeightType::kF32) return by_tiles(ctx, w, x, out);
  const bool library =
      w.type == WeightType::kBF16 && x.shape[0] >= kLibraryRows && !stream_of(ctx).batch_invariant;
  if (library) {
    by_library(ctx, w, x, out);
  } else {
    skinny_gemm(ctx, w, x, out);
  }
}

}  // namespace syrinx::cuda
