// Streams against a plain decoder over one long cache, cut anywhere, alone and together.
#include "nn/stream_decoder.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

using fixture::Bench;
using fixture::random;
using fixture::same_bits;

DecoderConfig small(RopeLayout layout) {
  DecoderConfig c;
  c.layers = 2, c.hidden = 32, c.heads = 4, c.kv_heads = 2, c.head_dim = 16, c.ffn = 48;
  c.norm = NormKind::kLayer;
  c.mlp = MlpKind::kGelu;
  c.layer_scale = true;
  c.window = 20;
  c.rope.layout = layout;
  c.final_norm = false;
  return c;
}

class StreamDecoderTest : public testing::TestWithParam<RopeLayout> {
 protected:
  static constexpr int kMaxRows = 8;
  /// x [T, H] through a stream, `cut(i)` rows in call i.
  template <typename Cut>
  Tensor stream(const View& x, Cut cut) {
    Tensor out({x.shape[0], x.shape[1]}, DType::kF32);
    std::copy_n(x.f32(), x.count(), out.f32());
    StreamKv kv = decoder_.open();
    int64_t at = 0;
    for (int i = 0; at < x.shape[0]; ++i) {
      const int64_t n = std::min({int64_t{cut(i)}, decoder_.room(kv), x.shape[0] - at});
      const StreamRows rows{&kv, n};
      decoder_.forward(bench_.ctx, out.view().slice(at, at + n), std::span(&rows, 1));
      at += n;
    }
    return out;
  }

  Weights weights_{dummy_weights()};
  StreamDecoder decoder_{small(GetParam()), weights_, WeightType::kF32, kMaxRows};
  Bench bench_;
};

TEST_P(StreamDecoderTest, AgreesWithADecoderOverAllPositions) {
  const Decoder plain(small(GetParam()), weights_, WeightType::kF32);
  const int64_t total = 150;
  const Tensor x = random({total, 32}, 1);
  Tensor want({total, 32}, DType::kF32);
  std::copy_n(x.f32(), x.view().count(), want.f32());
  const KvPool pool(plain.config().kv_spec(DType::kF32), KvPool::pages_for(total));
  std::vector<int32_t> table(KvPool::pages_for(total));
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(i);
  const int32_t begin[] = {0, static_cast<int32_t>(total)},
                length[] = {static_cast<int32_t>(total)};
  plain.forward(bench_.ctx, want, {begin, length, table, static_cast<int>(table.size())}, pool);
  EXPECT_TRUE(same_bits(stream(x, [](int) { return 3; }), want));
}

TEST_P(StreamDecoderTest, CutsChangeNothingAlsoWherePositionsTurnBack) {
  const int64_t total = 5000;  // a ring is 2 pages, so positions turn back at 2112
  const Tensor x = random({total, 32}, 2);
  const Tensor whole = stream(x, [](int) { return 8; });
  EXPECT_TRUE(same_bits(stream(x, [](int i) { return 1 + i % 7; }), whole));
  // A stream that begins late agrees once all that it lacks has left every layer's window.
  const Tensor late = stream(x.view().slice(2000, total), [](int) { return 5; });
  const int64_t seen = 2 * 20;
  EXPECT_LT(fixture::difference(late.view().slice(seen, total - 2000),
                                whole.view().slice(2000 + seen, total)),
            2e-4);
}

TEST_P(StreamDecoderTest, StreamsTogetherAreStreamsAlone) {
  constexpr int kStreams = 3;
  std::vector<Tensor> xs;
  std::vector<StreamKv> alone, together;
  for (int s = 0; s < kStreams; ++s) {
    alone.push_back(decoder_.open());
    together.push_back(decoder_.open());
  }
  for (uint32_t round = 0; round < 12; ++round) {
    std::vector<StreamRows> rows;
    int64_t total = 0;
    for (uint32_t s = 0; s < kStreams; ++s) {
      rows.push_back({&together[s], (s * 3 + round) % 6});
      total += rows.back().rows;
    }
    const Tensor x = random({total, 32}, 10 + round);
    Tensor both({total, 32}, DType::kF32), each({total, 32}, DType::kF32);
    std::copy_n(x.f32(), x.view().count(), both.f32());
    std::copy_n(x.f32(), x.view().count(), each.f32());
    decoder_.forward(bench_.ctx, both, rows);
    int64_t at = 0;
    for (int s = 0; s < kStreams; ++s) {
      const StreamRows one{&alone[s], rows[s].rows};
      decoder_.forward(bench_.ctx, each.view().slice(at, at + one.rows), std::span(&one, 1));
      at += one.rows;
    }
    EXPECT_TRUE(same_bits(both, each)) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, StreamDecoderTest,
                         testing::Values(RopeLayout::kHalfSplit, RopeLayout::kInterleaved));

TEST(RunPasses, EveryFrameOnceInOrder) {
  Bench bench;
  const int64_t frames[] = {5, 0, 17, 1};
  std::vector<int64_t> next(4, 0);
  int passes = 0;
  run_passes(
      bench.ctx, frames, 8, [](size_t job) { return int64_t{job == 2 ? 6 : 8}; },
      [&](std::span<const PassPart> parts) {
        int64_t at = 0;
        for (const PassPart& part : parts) {
          EXPECT_EQ(part.from, next[part.job]);
          EXPECT_EQ(part.begin, at);
          next[part.job] += part.frames;
          at += part.frames;
        }
        EXPECT_LE(at, 8);
        ++passes;
      });
  EXPECT_TRUE(std::equal(next.begin(), next.end(), frames));
  EXPECT_EQ(passes, 4);
}

}  // namespace
}  // namespace syrinx
