// Compares streams, in any chunks, alone and together, with a plain decoder over a long cache.
#include "nn/stream_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/fixture.h"
#include "nn/stream_pass.h"
#include "tensor/device.h"

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

class StreamDecoderTest : public testing::TestWithParam<std::tuple<RopeLayout, Device>> {
 protected:
  static constexpr int kMaxRows = 8;
  void SetUp() override {
    const Device device = std::get<1>(GetParam());
    if (const std::string why = device_missing(device); !why.empty()) GTEST_SKIP() << why;
    bench_.emplace(1, device);
    if (device != Device::kCpu) decoder_.move_to(device);
  }
  StepContext& ctx() { return bench_->ctx; }
  static RopeLayout layout() { return std::get<0>(GetParam()); }
  /// Copy x to the device of the streams, and copy results back.
  Tensor there(const View& x) { return copy_of(x, ctx().device); }
  Tensor back(const Tensor& x) {
    synchronize(ctx());
    return copy_of(x, Device::kCpu);
  }
  static Tensor copy_of(const View& x, Device device) {
    Tensor copy(x.shape, x.dtype, device);
    if (x.device == Device::kCpu && device == Device::kCpu) {
      std::copy_n(x.f32(), x.count(), copy.f32());
    } else {
      device_copy(x, copy);
    }
    return copy;
  }
  /// Runs x [T, H] through a stream, with `cut(i)` rows in call i.
  template <typename Cut>
  Tensor stream(const View& x, Cut cut) {
    const Tensor out = there(x);
    StreamKv kv = decoder_.open();
    int64_t at = 0;
    for (int i = 0; at < x.shape[0]; ++i) {
      const int64_t n = std::min({int64_t{cut(i)}, decoder_.room(ctx(), kv), x.shape[0] - at});
      const StreamRows rows{&kv, n};
      decoder_.forward(ctx(), out.view().slice(at, at + n), std::span(&rows, 1));
      at += n;
    }
    return back(out);
  }

  Weights weights_{dummy_weights()};
  StreamDecoder decoder_{small(layout()), weights_, WeightType::kF32, kMaxRows};
  std::optional<Bench> bench_;
};

TEST_P(StreamDecoderTest, AgreesWithADecoderOverAllPositions) {
  Decoder plain(small(layout()), weights_, WeightType::kF32);
  const Device device = ctx().device;
  if (device != Device::kCpu) plain.move_to(device);
  const int64_t total = 150;
  const Tensor x = random({total, 32}, 1), want = there(x);
  const KvPool pool(plain.config().kv_spec(DType::kF32), KvPool::pages_for(total), device);
  std::vector<int32_t> table(KvPool::pages_for(total));
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(i);
  const int32_t begin[] = {0, static_cast<int32_t>(total)},
                length[] = {static_cast<int32_t>(total)};
  plain.forward(ctx(), want, {begin, length, table, static_cast<int>(table.size())}, pool);
  EXPECT_TRUE(same_bits(stream(x, [](int) { return 3; }), back(want)));
}

TEST_P(StreamDecoderTest, CutsChangeNothingAlsoWherePositionsTurnBack) {
  // A ring has 2 pages, so positions are shifted back at 2112. An emulated device is slow, so this
  // happens only once.
  const bool emulated = fixture::emulated(ctx().device);
  if (emulated && layout() == RopeLayout::kInterleaved) GTEST_SKIP() << "takes a minute";
  const int64_t total = emulated ? 2128 : 5000;
  const Tensor x = random({total, 32}, 2);
  const Tensor whole = stream(x, [](int) { return 8; });
  if (emulated) {
    Bench cpu;
    const StreamDecoder same(small(layout()), weights_, WeightType::kF32, kMaxRows);
    StreamKv kv = same.open();
    for (int64_t at = 0; at < total; at += 8) {
      const StreamRows rows{&kv, std::min(same.room(cpu.ctx, kv), int64_t{8})};
      ASSERT_EQ(rows.rows, 8);
      same.forward(cpu.ctx, x.view().slice(at, at + 8), std::span(&rows, 1));
    }
    EXPECT_LT(fixture::difference(whole, x), 1e-4);
    return;
  }
  EXPECT_TRUE(same_bits(stream(x, [](int i) { return 1 + i % 7; }), whole));
  // A stream that begins late must equal the whole stream as soon as the rows that it lacks have
  // left the window of every layer.
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
    const Tensor both = there(x), each = there(x);
    decoder_.forward(ctx(), both, rows);
    int64_t at = 0;
    for (int s = 0; s < kStreams; ++s) {
      const StreamRows one{&alone[s], rows[s].rows};
      decoder_.forward(ctx(), each.view().slice(at, at + one.rows), std::span(&one, 1));
      at += one.rows;
    }
    EXPECT_TRUE(same_bits(back(both), back(each))) << "round " << round;
  }
}

/// A copy continues like its original, and neither changes the other.
TEST_P(StreamDecoderTest, ACopyGoesOnWhereItsOriginalWas) {
  const int64_t before = 45, total = before + 6;
  const Tensor x = random({total, 32}, 3);
  const Tensor whole = stream(x, [](int) { return 5; });
  StreamKv kv = decoder_.open();
  const auto run = [&](StreamKv& each, int64_t from, int64_t to) {
    const Tensor out = there(x.view().slice(from, to));
    const StreamRows rows{&each, to - from};
    decoder_.forward(ctx(), out, std::span(&rows, 1));
    return back(out);
  };
  for (int64_t at = 0; at < before; at += 5) run(kv, at, at + 5);
  StreamKv copy = kv.clone();
  for (StreamKv* each : {&copy, &kv}) {
    EXPECT_TRUE(same_bits(run(*each, before, total), whole.view().slice(before, total)));
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, StreamDecoderTest,
                         testing::Combine(testing::Values(RopeLayout::kHalfSplit,
                                                          RopeLayout::kInterleaved),
                                          testing::ValuesIn(fixture::devices())),
                         [](const auto& tested) {
                           const bool split = std::get<0>(tested.param) == RopeLayout::kHalfSplit;
                           return std::string(split ? "split_" : "interleaved_") +
                                  fixture::label_of(std::get<1>(tested.param));
                         });

/// Keys in f16 are rotated back, too: a stream that begins late becomes nearly equal to the whole.
TEST(StreamDecoder, HalfPrecisionKeysTurnBack) {
  Bench bench;
  const Weights weights(dummy_weights());
  const StreamDecoder narrow(small(RopeLayout::kInterleaved), weights, WeightType::kF32, 8,
                             DType::kF16);
  const StreamDecoder wide(small(RopeLayout::kInterleaved), weights, WeightType::kF32, 8);
  EXPECT_EQ(narrow.state_bytes() * 2, wide.state_bytes());
  const int64_t total = 2200;  // positions are shifted back at 2112
  const Tensor x = random({total, 32}, 4);
  const auto run = [&](const StreamDecoder& decoder) {
    Tensor out({total, 32}, DType::kF32);
    std::copy_n(x.f32(), total * 32, out.f32());
    StreamKv kv = decoder.open();
    for (int64_t at = 0; at < total;) {
      const StreamRows rows{&kv, std::min({decoder.room(bench.ctx, kv), int64_t{8}, total - at})};
      decoder.forward(bench.ctx, out.view().slice(at, at + rows.rows), std::span(&rows, 1));
      at += rows.rows;
    }
    return out;
  };
  EXPECT_LT(fixture::difference(run(narrow), run(wide)), 5e-3);
}

/// Without rotary angles, only positions are shifted back. The keys in the cache need no rotation.
TEST(StreamDecoder, PositionsTurnBackWithoutAngles) {
  Bench bench;
  DecoderConfig config = small(RopeLayout::kHalfSplit);
  config.rotary = false;
  const Weights weights(dummy_weights());
  const StreamDecoder decoder(config, weights, WeightType::kF32, 8);
  const int64_t total = 2200;
  const Tensor x = random({total, 32}, 4);
  const auto run = [&](int64_t from, int64_t step) {
    Tensor out({total - from, 32}, DType::kF32);
    std::copy_n(x.f32() + from * 32, out.view().count(), out.f32());
    StreamKv kv = decoder.open();
    for (int64_t at = from; at < total;) {
      const int64_t room = decoder.room(bench.ctx, kv), n = std::min({step, room, total - at});
      const StreamRows rows{&kv, n};
      decoder.forward(bench.ctx, out.view().slice(at - from, at - from + n), std::span(&rows, 1));
      at += n;
    }
    return out;
  };
  const Tensor whole = run(0, 8);
  EXPECT_TRUE(same_bits(run(0, 3), whole));
  // A stream that begins shortly before the shift must equal the whole stream once the rows that it
  // lacks have left the windows.
  const Tensor late = run(2060, 5);
  EXPECT_LT(fixture::difference(late.view().slice(45, 140), whole.view().slice(2105, total)), 2e-4);
}

/// Norms equal to the decoder's own change nothing; others change only their own stream.
TEST(StreamDecoder, AStreamMayHaveNormsOfItsOwn) {
  DecoderConfig config = small(RopeLayout::kHalfSplit);
  config.norm = NormKind::kRms;
  const Weights weights(dummy_weights());  // whose norms are 1
  const StreamDecoder decoder(config, weights, WeightType::kF32, 4);
  Tensor own({config.layers, config.hidden}, DType::kF32), other = own.clone();
  std::fill_n(own.f32(), own.view().count(), 1.f);
  for (int64_t i = 0; i < other.view().count(); ++i) other.f32()[i] = 1.5f - 0.01f * float(i % 32);
  const Tensor input = random({4, config.hidden}, 3);
  const auto run = [&](const std::vector<View>& norms) {
    Bench bench(1);
    const auto streams = std::ssize(norms);
    Tensor x({4 * streams, config.hidden}, DType::kF32);
    std::vector<StreamKv> kv;
    std::vector<StreamRows> rows;
    for (int64_t i = 0; i < streams; ++i) {
      std::copy_n(input.f32(), input.view().count(), x.f32() + i * input.view().count());
      kv.push_back(decoder.open());
    }
    for (int64_t i = 0; i < streams; ++i) rows.push_back({&kv[i], 4, norms[i]});
    decoder.forward(bench.ctx, x, rows);
    return x;
  };
  const Tensor plain = run({View{}}), changed = run({other});
  const Tensor three = run({own, other, View{}});
  const auto part = [&](int64_t i) { return three.view().slice(4 * i, 4 * i + 4); };
  EXPECT_TRUE(same_bits(part(0), plain));
  EXPECT_TRUE(same_bits(part(1), changed));
  EXPECT_TRUE(same_bits(part(2), plain));
  EXPECT_FALSE(same_bits(changed, plain));
}

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

class RowsOfProducts : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsOfProducts, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

// On a GPU, inputs of matrix products are stored as bf16 for twelve rows, but as f32 for one row.
TEST_P(RowsOfProducts, AreTheSameBitsTogetherAndAlone) {
  constexpr int kInput = 12;
  DecoderConfig config;
  config.layers = 2, config.hidden = 320, config.ffn = 128;
  config.heads = 2, config.kv_heads = 1, config.head_dim = 64;
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    for (const NormKind norm : {NormKind::kRms, NormKind::kLayer}) {
      config.norm = norm;
      Bench bench(1, GetParam());
      const Weights weights{dummy_weights()};
      Decoder decoder(config, weights, type);
      if (GetParam() != Device::kCpu) decoder.move_to(GetParam());
      const Tensor x = random({kInput, config.hidden}, 1);
      std::vector<Tensor> results;
      for (const int each : {kInput, 1}) {
        const KvPool pool(config.kv_spec(DType::kF32), 1, GetParam());
        Tensor out({kInput, config.hidden}, DType::kF32);
        std::copy_n(x.f32(), x.view().count(), out.f32());
        for (int at = 0; at < kInput; at += each) {
          const int32_t begin[] = {0, each}, length[] = {at + each}, page[] = {0};
          decoder.forward(bench.ctx, bench.on(out.view().slice(at, at + each)),
                          {begin, length, page, 1}, pool);
          bench.back();
        }
        results.push_back(std::move(out));
      }
      EXPECT_TRUE(same_bits(results[0], results[1])) << weight_type_name(type);
    }
  }
}

}  // namespace
}  // namespace syrinx
