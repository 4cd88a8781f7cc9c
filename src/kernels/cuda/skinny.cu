// Launches the kernels of skinny.cuh, after rounding the activations.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/products.h"
#include "kernels/cuda/skinny.cuh"

namespace syrinx::cuda {
namespace {

struct Round {
  const float* x;
  uint16_t* to;
  int64_t k, padded_k;
  __device__ void operator()(int64_t i) const {
    if (k == padded_k) {
      to[i] = gpu::float_to_bf16(x[i]);
      return;
    }
    const RowColumn at = row_and_column(i, padded_k);
    to[i] = at.column < k ? gpu::float_to_bf16(x[at.row * k + at.column]) : uint16_t{0};
  }
};

template <int kTiles, int kPanels, bool kQ8, Input kInput>
void go(StepContext& ctx, SkinnyCall call) {
  const unsigned blocks = gpu::blocks_for(call.rows, 16 * kPanels);
  const unsigned tiles = gpu::blocks_for(call.n, 8 * kTiles);
  const Arena::Mark mark(ctx.arena);
  SYRINX_CHECK(blocks <= 65535, "[linear] ", call.rows, " rows need too many blocks for a grid");
  SYRINX_CHECK(!call.normed || int64_t{blocks} * tiles * call.split <= kMostSharingBlocks,
               "[linear] too many blocks share the norms of rows: ", blocks, " x ", tiles);
  if (call.split > 1) {
    SYRINX_CHECK(int64_t{blocks} * tiles <= KernelState::kCounters, "[linear] ", call.rows, " x ",
                 call.n, " needs more blocks than counters");
    call.partial =
        take<float>(ctx, int64_t{blocks} * tiles * call.split * kPanels * 16 * 8 * kTiles);
    call.counters = reinterpret_cast<unsigned*>(state_of(ctx).counters.i32());
  }
  const int64_t shared = kInput == Input::kNormed ? normed_bytes(call.n, call.padded_k) : 0;
  gpu::launch_early("linear", skinny<kTiles, kPanels, kQ8, kInput>, dim3(tiles, blocks, call.split),
                    32 * kSkinnyWarps, static_cast<size_t>(shared), stream_of(ctx), call);
}

template <int kTiles, bool kQ8, Input kInput>
void choose_panels(StepContext& ctx, const SkinnyCall& call) {
  const bool gated = call.out.store == GemmOut::Store::kSiluGate;
  switch (skinny_panels(call.rows, kTiles, gated)) {
    case 1:
      return go<kTiles, 1, kQ8, kInput>(ctx, call);
    case 2:
      return go<kTiles, 2, kQ8, kInput>(ctx, call);
    default:
      if constexpr (kTiles < 4) go<kTiles, 4, kQ8, kInput>(ctx, call);
  }
}

template <bool kQ8>
void choose(StepContext& ctx, const SkinnyCall& call) {
  if (!call.x && call.norm.weight) {
    choose_panels<1, kQ8, Input::kNormed>(ctx, call);
  } else if (!call.x) {
    choose_panels<1, kQ8, Input::kF32>(ctx, call);
  } else if (call.n <= 16) {
    choose_panels<2, kQ8, Input::kBf16>(ctx, call);
  } else if (call.n <= 32) {
    choose_panels<4, kQ8, Input::kBf16>(ctx, call);
  } else {
    choose_panels<8, kQ8, Input::kBf16>(ctx, call);
  }
}

}  // namespace

const uint16_t* round_to_bf16(StepContext& ctx, const View& x, int64_t padded_k) {
  auto* to = take<uint16_t>(ctx, x.shape[0] * padded_k);
  for_each(ctx, "round_to_bf16", x.shape[0] * padded_k, Round{x.f32(), to, x.shape[1], padded_k});
  return to;
}

void skinny_gemm(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out,
                 const GemmNorm& norm) {
  const Arena::Mark mark(ctx.arena);
  SkinnyCall call;
  call.rows = w.panels() * PackedMatrix::kPanel;
  call.padded_k = matrix_padded_k(w.k);
  call.n = x.shape[0];
  call.weight = w.data.view().data;
  call.split = skinny_split(call.rows, call.padded_k);
  call.out = out;
  call.norm = norm;
  // Up to eight rows are rounded while they are read. With more rows, each row would be read and
  // rounded too often.
  if (x.dtype == DType::kBF16) {
    call.x = x.bf16();
  } else if (norm.weight && !norms_in_each_block(call.n, w.k)) {
    call.x_f32 = x.f32();
    call.x = call.normed = take<uint16_t>(ctx, call.n * call.padded_k);
    call.norm_state = reinterpret_cast<unsigned*>(state_of(ctx).norm_state.i32());
  } else if (call.n <= kRoundedInPlace && w.k == call.padded_k) {
    call.x_f32 = x.f32();
  } else {
    call.x = round_to_bf16(ctx, x, call.padded_k);
  }
  call.prefetch = norm.weight != nullptr || gpu::early_wanted();
  if (w.type == WeightType::kQ8) {
    call.scales = reinterpret_cast<const uint16_t*>(static_cast<const char*>(call.weight) +
                                                    call.rows * call.padded_k);
    choose<true>(ctx, call);
  } else {
    choose<false>(ctx, call);
  }
}

}  // namespace syrinx::cuda
