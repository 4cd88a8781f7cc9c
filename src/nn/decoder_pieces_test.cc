// Tests that the rows of a long prompt, whose MLPs run in pieces, have the bits of shorter prompts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/fixture.h"
#include "nn/decoder.h"

namespace syrinx {
namespace {

constexpr int64_t kLong = 200, kLongPages = 7;

DecoderConfig piece_config(MlpKind mlp, NormKind norm, NormOrder order) {
  DecoderConfig c;
  c.layers = 2, c.hidden = 48, c.heads = 4, c.kv_heads = 2, c.head_dim = 16, c.ffn = 80;
  c.rope.theta = 10000;
  c.mlp = mlp, c.norm = norm, c.norm_order = order;
  if (order == NormOrder::kBoth) c.names.mlp_norm = "pre_feedforward_layernorm";
  return c;
}

/// Returns the final state of one sequence, of which `chunk` rows run at a time.
Tensor run_in_chunks(const Decoder& decoder, const Tensor& input, int64_t chunk,
                     const View& norms) {
  fixture::Bench bench(1);
  const KvPool pool(decoder.config().kv_spec(DType::kF32), kLongPages);
  std::vector<int32_t> table(kLongPages);
  std::iota(table.begin(), table.end(), 0);
  Tensor out = input.clone();
  for (int64_t at = 0; at < kLong; at += chunk) {
    const int64_t end = std::min(at + chunk, kLong);
    const std::vector<int32_t> row_begin{0, static_cast<int32_t>(end - at)};
    const std::vector<int32_t> length{static_cast<int32_t>(end)};
    const DecoderPart part{.begin = 0,
                           .ragged = {row_begin, length, table, kLongPages},
                           .pool = &pool,
                           .mlp_norms = norms};
    decoder.forward(bench.ctx, out.view().slice(at, end), std::span(&part, 1), 0);
  }
  return out;
}

TEST(DecoderPieces, RowsOfALongPromptHaveTheBitsOfShortOnes) {
  const Tensor norms = fixture::random({2, 48}, 7);
  for (const DecoderConfig& c : {piece_config(MlpKind::kSwiGlu, NormKind::kRms, NormOrder::kBefore),
                                 piece_config(MlpKind::kGelu, NormKind::kLayer, NormOrder::kBefore),
                                 piece_config(MlpKind::kGeGlu, NormKind::kRms, NormOrder::kBoth)}) {
    for (const WeightType type : {WeightType::kF32, WeightType::kQ8A8}) {
      const Decoder decoder(c, Weights(dummy_weights()), type);
      const Tensor input = fixture::random({kLong, c.hidden}, 5);
      for (const bool own_norms : {false, c.norm == NormKind::kRms}) {
        const View own = own_norms ? norms.view() : View{};
        const Tensor whole = run_in_chunks(decoder, input, kLong, own);
        EXPECT_TRUE(fixture::same_bits(whole, run_in_chunks(decoder, input, 50, own)));
        EXPECT_FALSE(fixture::same_bits(whole, input));
      }
    }
  }
}

}  // namespace
}  // namespace syrinx
