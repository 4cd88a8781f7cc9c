#include "nn/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <vector>

#include "base/worst.h"
#include "kernels/fixture.h"
#include "nn/cache_type.h"
#include "nn/convnext.h"
#include "nn/inner_decoder.h"
#include "nn/local_kv.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// Replaces operator new, to count every allocation of this test program.
__attribute__((noinline)) void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace syrinx {
namespace {

using fixture::Bench;

DecoderConfig small() {
  DecoderConfig c;
  c.layers = 2, c.hidden = 48, c.heads = 4, c.kv_heads = 2, c.head_dim = 16, c.ffn = 80;
  c.rope.theta = 10000;
  c.rope_positions = 64;  // fewer than the tests use
  return c;
}

DecoderConfig qwen3() {
  DecoderConfig c = small();
  c.qk_norm = true;
  c.attention_bias = true;
  return c;
}

DecoderConfig mimi() {
  DecoderConfig c = small();
  c.kv_heads = 4;
  c.norm = NormKind::kLayer;
  c.mlp = MlpKind::kGelu;
  c.layer_scale = true;
  c.window = 20;
  c.rope.layout = RopeLayout::kInterleaved;
  return c;
}

DecoderConfig mixture() {
  DecoderConfig c = qwen3();
  c.ffn = 0;
  c.moe = {.experts = 7, .top_k = 3, .ffn = 40, .normalised = false, .shared_ffn = 24};
  return c;
}

DecoderConfig olmo2() {
  DecoderConfig c = small();
  c.norm_order = NormOrder::kAfter;
  c.qk_norm = c.qk_norm_wide = true;
  return c;
}

DecoderConfig voxtral_codec() {
  DecoderConfig c = olmo2();
  c.norm_order = NormOrder::kBefore;
  c.qk_norm_eps = 0.1f;
  c.rotary = false;
  c.window = 5;
  c.slopes = {1, 0.5f, 0.2f, 0.1f};
  return c;
}

DecoderConfig gemma3() {
  DecoderConfig c = small();
  c.norm_order = NormOrder::kBoth;
  c.norm_offset = 1;
  c.mlp = MlpKind::kGeGlu;
  c.qk_norm = true;
  c.query_scale = 0.2f, c.score_cap = 3;
  c.names.mlp_norm = "pre_feedforward_layernorm";
  c.layer_kinds = {{20, LayerKind::Rope::kLocal}, {0, LayerKind::Rope::kMain}};
  c.local_rope = RopeSpec{.theta = 100};
  return c;
}

Weights dummy() { return Weights(dummy_weights()); }

// Runs `inputs` (one [T, H] per sequence) in chunks over one pool of pages. Returns the final state
// of every row.
std::vector<Tensor> run(const Decoder& decoder, const std::vector<const Tensor*>& inputs, int chunk,
                        int threads, DType cache = DType::kF32) {
  const DecoderConfig& c = decoder.config();
  Bench bench(threads);
  constexpr int kPages = 8;
  const KvPool pool(c.kv_spec(cache), static_cast<int64_t>(inputs.size()) * kPages);
  std::vector<int32_t> table(inputs.size() * kPages);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(table.size() - 1 - i);
  std::vector<Tensor> outs;
  for (const Tensor* x : inputs) outs.push_back(fixture::poisoned(x->shape()));
  for (int done = 0;; done += chunk) {
    std::vector<int32_t> begin{0}, length;
    for (const Tensor* x : inputs) {
      const int all = static_cast<int>(x->shape()[0]);
      length.push_back(std::min(all, done + chunk));
      begin.push_back(begin.back() + std::clamp(all - done, 0, chunk));
    }
    if (begin.back() == 0) return outs;
    Tensor x({begin.back(), c.hidden}, DType::kF32), y = fixture::poisoned(x.shape());
    const Ragged ragged{begin, length, table, kPages};
    const auto copy = [&](bool in) {
      for (size_t b = 0; b < inputs.size(); ++b)
        for (int i = begin[b]; i < begin[b + 1]; ++i) {
          const int64_t at = ragged.first_position(b) + i - begin[b];
          if (in) {
            std::copy_n(inputs[b]->f32() + at * c.hidden, c.hidden, x.f32() + i * c.hidden);
          } else {
            std::copy_n(y.f32() + i * c.hidden, c.hidden, outs[b].f32() + at * c.hidden);
          }
        }
    };
    copy(true);
    decoder.forward(bench.ctx, x, ragged, pool);
    decoder.norm(bench.ctx, x, y);
    copy(false);
    bench.arena.reset();
  }
}

// Computes the block from its formulas in double; for qwen3(), with its norms and biases.
Tensor by_hand(const DecoderConfig& c, const Weights& root, const Tensor& input) {
  const int64_t n = input.shape()[0], h = c.hidden, d = c.head_dim;
  using Rows = std::vector<std::vector<double>>;
  Rows x(n, std::vector<double>(h));
  for (int64_t i = 0; i < n * h; ++i) x[i / h][i % h] = input.f32()[i];
  const auto norm = [&](std::vector<double> v, const Tensor& w, float eps = 0) {
    double squares = 0;
    for (const double a : v) squares += a * a;
    const double f = 1 / std::sqrt(squares / v.size() + (eps > 0 ? eps : c.norm_eps));
    for (size_t i = 0; i < v.size(); ++i) v[i] *= f * w.f32()[i];
    return v;
  };
  const auto linear_of = [&](const Weights& w, const char* name, int64_t out,
                             const std::vector<double>& v, bool bias) {
    const int64_t in = static_cast<int64_t>(v.size());
    const Tensor m = w.scope(name).f32("weight", {out, in});
    std::vector<double> y(out);
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) y[o] += m.f32()[o * in + i] * v[i];
    if (bias) {
      const Tensor b = w.scope(name).f32("bias", {out});
      for (int64_t o = 0; o < out; ++o) y[o] += b.f32()[o];
    }
    return y;
  };
  for (int layer = 0; layer < c.layers; ++layer) {
    const Weights w = root.scope("layers", layer);
    const Tensor n1 = w.f32("input_layernorm.weight", {h}),
                 n2 = w.f32("post_attention_layernorm.weight", {h}),
                 qn = w.f32("self_attn.q_norm.weight", {d}),
                 kn = w.f32("self_attn.k_norm.weight", {d});
    Rows q(n), k(n), v(n);
    for (int64_t t = 0; t < n; ++t) {
      const auto y = norm(x[t], n1);
      q[t] = linear_of(w, "self_attn.q_proj", c.heads * d, y, true);
      k[t] = linear_of(w, "self_attn.k_proj", c.kv_heads * d, y, true);
      v[t] = linear_of(w, "self_attn.v_proj", c.kv_heads * d, y, true);
      const auto turn = [&](std::vector<double>& heads, const Tensor& weight) {
        for (size_t at = 0; at < heads.size(); at += d) {
          const auto y2 = norm({heads.begin() + at, heads.begin() + at + d}, weight, c.qk_norm_eps);
          for (int64_t i = 0; i < d / 2; ++i) {
            const double angle = t * std::pow(c.rope.theta, -2. * i / d);
            heads[at + i] = y2[i] * std::cos(angle) - y2[i + d / 2] * std::sin(angle);
            heads[at + i + d / 2] = y2[i + d / 2] * std::cos(angle) + y2[i] * std::sin(angle);
          }
        }
      };
      turn(q[t], qn);
      turn(k[t], kn);
    }
    for (int64_t t = 0; t < n; ++t) {
      std::vector<double> mixed(c.heads * d);
      for (int head = 0; head < c.heads; ++head) {
        const int64_t kv = head / (c.heads / c.kv_heads) * d;
        double total = 0;
        for (int64_t s = 0; s <= t; ++s) {
          double dot = 0;
          for (int64_t i = 0; i < d; ++i) dot += q[t][head * d + i] * k[s][kv + i];
          const double bias = c.slopes.empty() ? 0 : c.slopes[head] * double(s - t);
          const double weight = std::exp(dot / std::sqrt(double(d)) + bias);
          total += weight;
          for (int64_t i = 0; i < d; ++i) mixed[head * d + i] += weight * v[s][kv + i];
        }
        for (int64_t i = 0; i < d; ++i) mixed[head * d + i] /= total;
      }
      const auto a = linear_of(w, "self_attn.o_proj", h, mixed, false);
      for (int64_t i = 0; i < h; ++i) x[t][i] += a[i];
      const auto y = norm(x[t], n2);
      auto gate = linear_of(w, "mlp.gate_proj", c.ffn, y, false);
      const auto up = linear_of(w, "mlp.up_proj", c.ffn, y, false);
      for (int64_t i = 0; i < c.ffn; ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      const auto m = linear_of(w, "mlp.down_proj", h, gate, false);
      for (int64_t i = 0; i < h; ++i) x[t][i] += m[i];
    }
  }
  const Tensor last = root.f32("norm.weight", {h});
  Tensor out({n, h}, DType::kF32);
  for (int64_t t = 0; t < n; ++t) {
    const auto y = norm(x[t], last);
    for (int64_t i = 0; i < h; ++i) out.f32()[t * h + i] = static_cast<float>(y[i]);
  }
  return out;
}

TEST(Decoder, AgreesWithTheFormulas) {
  DecoderConfig sloped = qwen3();
  sloped.slopes = {1, 0.5f, 0.2f, 0.1f};
  sloped.qk_norm_eps = 0.1f;
  for (const DecoderConfig& c : {qwen3(), sloped}) {
    const Weights weights = dummy();
    const Decoder decoder(c, weights, WeightType::kF32);
    EXPECT_EQ(weights.report().faults(), "");
    const Tensor x = fixture::random({90, c.hidden}, 1);
    EXPECT_LT(fixture::difference(run(decoder, {&x}, 90, 1)[0], by_hand(c, weights, x)), 2e-5);
  }
}

TEST(Decoder, SameBitsInAnyBatchChunkAndThreads) {
  for (const DecoderConfig& c : {qwen3(), mimi(), mixture(), olmo2(), voxtral_codec(), gemma3()}) {
    for (const WeightType type :
         {WeightType::kF32, WeightType::kBF16, WeightType::kQ8, WeightType::kQ4}) {
      const Decoder decoder(c, dummy(), type);
      const DType cache = cache_type(type);
      const Tensor a = fixture::random({70, c.hidden}, 1), b = fixture::random({33, c.hidden}, 2),
                   d = fixture::random({1, c.hidden}, 3);
      const auto alone = run(decoder, {&a}, 70, 1, cache);
      for (const int chunk : {1, 13, 70}) {
        for (const int threads : {1, 2}) {
          const auto batch = run(decoder, {&d, &a, &b}, chunk, threads, cache);
          EXPECT_TRUE(fixture::same_bits(batch[1], alone[0]))
              << weight_type_name(type) << " chunk " << chunk << " threads " << threads;
        }
      }
    }
  }
}

TEST(Decoder, LayersMaySeeAndTurnEachInItsWay) {
  const Tensor x = fixture::random({60, small().hidden}, 1);
  const auto with = [&](const DecoderConfig& c) {
    return std::move(run(Decoder(c, dummy(), WeightType::kF32), {&x}, 60, 1)[0]);
  };
  DecoderConfig plain = small(), kinds = small();
  plain.window = 20;
  kinds.layer_kinds = {{20, LayerKind::Rope::kMain}, {20, LayerKind::Rope::kMain}};
  const Tensor want = with(plain);
  EXPECT_TRUE(fixture::same_bits(with(kinds), want));
  kinds.layer_kinds[1].rope = LayerKind::Rope::kLocal;
  kinds.local_rope = kinds.rope;
  EXPECT_TRUE(fixture::same_bits(with(kinds), want));
  kinds.local_rope->theta = 100;
  EXPECT_FALSE(fixture::same_bits(with(kinds), want));
  kinds.layer_kinds[1] = {0, LayerKind::Rope::kMain};
  EXPECT_FALSE(fixture::same_bits(with(kinds), want));
  plain.rotary = false;
  kinds.layer_kinds = {{20, LayerKind::Rope::kNone}, {20, LayerKind::Rope::kNone}};
  EXPECT_TRUE(fixture::same_bits(with(kinds), with(plain)));
}

TEST(Decoder, CachesOf8BitsCostNothingBeside4BitWeights) {
  for (const WeightType type : {WeightType::kQ4, WeightType::kMixed}) {
    EXPECT_EQ(cache_type(type), DType::kI8);
    EXPECT_EQ(short_cache_type(type), DType::kF16);
    for (const DecoderConfig& c : {qwen3(), mimi()}) {
      const Tensor x = fixture::random({90, c.hidden}, 1);
      const std::vector<Tensor> exact = run(Decoder(c, dummy(), WeightType::kF32), {&x}, 90, 1);
      const Decoder decoder(c, dummy(), type);
      const auto error = [&](DType cache) {
        const std::vector<Tensor> out = run(decoder, {&x}, 90, 1, cache);
        double sum = 0;
        for (int64_t i = 0; i < x.shape().count(); ++i)
          sum += std::pow(double{out[0].f32()[i]} - exact[0].f32()[i], 2);
        return std::sqrt(sum);
      };
      EXPECT_LT(error(DType::kI8), 1.01 * error(DType::kF16)) << weight_type_name(type);
    }
  }
  EXPECT_EQ(cache_type(WeightType::kF32), DType::kF32);
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8, WeightType::kQ8A8})
    EXPECT_EQ(cache_type(type), DType::kF16);
}

// A source of weights that lacks two tensors.
class Incomplete : public WeightSource {
 public:
  std::string where(const std::string&) const override { return "file"; }
  bool has(const std::string& name) const override {
    return name != "m.layers.1.self_attn.q_norm.weight" && name != "m.norm.weight";
  }
  std::string describe(const std::string& name) const override { return all_->describe(name); }
  std::optional<Shape> shape(const std::string& name) const override { return all_->shape(name); }
  View take(const std::string& name, const Shape& shape) override {
    return has(name) ? all_->take(name, shape) : View{};
  }
  std::vector<std::string> names() const override { return {}; }

 private:
  std::unique_ptr<WeightSource> all_ = dummy_weights();
};

TEST(Decoder, MissingTensorsAreAllNamed) {
  const Weights weights(std::make_unique<Incomplete>());
  const Decoder decoder(qwen3(), weights.scope("m"), WeightType::kF32);
  EXPECT_EQ(weights.report().missing,
            (std::vector<std::string>{"m.layers.1.self_attn.q_norm.weight", "m.norm.weight"}));
}

TEST(Decoder, MixedWeightsKeepDownIn8Bits) {
  const auto bytes = [](int64_t out, int64_t in, WeightType type) {
    return load_linear(dummy(), "down", out, in, false, type).bytes();
  };
  const auto all = [](const DecoderConfig& config, WeightType type) {
    return Decoder(config, dummy(), type).bytes();
  };
  for (const DecoderConfig& c : {small(), mimi(), mixture()}) {
    size_t down4 = 0, down8 = 0;
    const auto add = [&](int64_t ffn, size_t times) {
      down4 += times * bytes(c.hidden, ffn, WeightType::kQ4);
      down8 += times * bytes(c.hidden, ffn, WeightType::kQ8);
    };
    const auto layers = static_cast<size_t>(c.layers);
    if (c.moe.experts > 0) {
      add(c.moe.ffn, layers * static_cast<size_t>(c.moe.experts));
      add(c.moe.shared_ffn, layers);
    } else {
      add(c.ffn, layers);
    }
    EXPECT_EQ(all(c, WeightType::kMixed), all(c, WeightType::kQ4) - down4 + down8);
  }
}

TEST(Decoder, ASteadyStepAllocatesNothing) {
  const DecoderConfig c = qwen3();
  const Decoder decoder(c, dummy(), WeightType::kQ8);
  Bench bench(2);
  LocalKv kv(c.kv_spec(), 3, 17);
  const Tensor input = fixture::random({6, c.hidden}, 1);
  Tensor x(input.shape(), DType::kF32), y({3, c.hidden}, DType::kF32);
  std::vector<int32_t> last(3);
  int64_t before = 0;
  size_t scratch = 0;
  for (int frame = 0; frame < 4; ++frame) {
    if (frame == 3) before = allocations.load(), scratch = bench.arena.capacity();
    kv.begin(3);
    for (int step = 0; step < 16; ++step) {
      bench.arena.reset();
      const int rows = step == 0 ? 2 : 1;
      const Ragged ragged = kv.append(rows);
      const View part = x.view().slice(0, 3 * rows);
      std::copy_n(input.f32(), part.count(), x.f32());
      decoder.forward(bench.ctx, part, ragged, kv.pool());
      EXPECT_EQ(last_rows(ragged, last), 3);
      decoder.norm_rows(bench.ctx, part, last, y);
    }
  }
  EXPECT_EQ(allocations.load() - before, 0);
  EXPECT_EQ(bench.arena.capacity(), scratch);
}

// Each step uses other experts. From the third step on, some steps use the same experts for all
// rows.
TEST(Decoder, ASteadyStepOfExpertsAllocatesNothing) {
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    const DecoderConfig c = mixture();
    const Decoder decoder(c, dummy(), type);
    Bench bench(2);
    LocalKv kv(c.kv_spec(), 5, 17);
    Tensor x({5, c.hidden}, DType::kF32);
    size_t scratch = 0;
    kv.begin(5);
    for (int step = 0; step < 17; ++step) {
      const Tensor input = fixture::random(x.shape(), 100 + step, step % 3 == 2 ? 0.f : 1.f);
      if (step == 2) scratch = bench.arena.capacity();
      const int64_t outside = allocations.load();
      bench.arena.reset();
      std::copy_n(input.f32(), x.view().count(), x.f32());
      decoder.forward(bench.ctx, x, kv.append(1), kv.pool());
      EXPECT_TRUE(step < 2 || allocations.load() == outside) << step;
    }
    EXPECT_EQ(bench.arena.capacity(), scratch);
  }
}

TEST(Decoder, BlocksMayRunInSeveralCalls) {
  const DecoderConfig c = qwen3();
  const Decoder decoder(c, dummy(), WeightType::kF32);
  Bench bench;
  const Tensor input = fixture::random({9, c.hidden}, 1);
  const auto run_blocks = [&](std::initializer_list<BlockRange> calls, const Tensor& x) {
    LocalKv kv(c.kv_spec(DType::kF32), 1, 17);
    kv.begin(1);
    const DecoderPart all{0, kv.append(9), &kv.pool()};
    for (const BlockRange& blocks : calls)
      decoder.forward(bench.ctx, x, std::span(&all, 1), blocks.begin, blocks);
  };
  Tensor whole = input.clone(), parts = input.clone(), none = input.clone();
  run_blocks({{0, 2}}, whole);
  run_blocks({{0, 1}, {1, 1}, {1, 2}}, parts);
  run_blocks({{0, 0}}, none);
  EXPECT_TRUE(fixture::same_bits(parts, whole));
  EXPECT_TRUE(fixture::same_bits(none, input));
  EXPECT_FALSE(fixture::same_bits(whole, input));
  EXPECT_THROW(run_blocks({{1, 3}}, none), InternalError);
}

TEST(Decoder, WholeSequencesOfOneLengthRunTogether) {
  DecoderConfig c = small();
  c.causal = false;
  const Decoder encoder(c, dummy(), WeightType::kF32);
  const Tensor input = fixture::random({3 * 40, c.hidden}, 5);  // more than a page per sequence
  Tensor together = input.clone(), alone = input.clone();
  Bench two(2), one(1);
  run_whole(two.ctx, encoder, together, {0, c.layers}, 40);
  for (int64_t i = 0; i < 3; ++i)
    run_whole(one.ctx, encoder, alone.view().slice(i * 40, (i + 1) * 40), {0, c.layers});
  EXPECT_TRUE(std::equal(together.f32(), together.f32() + input.view().count(), alone.f32()));
  Tensor whole = input.clone();
  run_whole(one.ctx, encoder, whole, {0, c.layers});
  EXPECT_FALSE(std::equal(whole.f32(), whole.f32() + input.view().count(), alone.f32()));
  EXPECT_THROW(run_whole(one.ctx, encoder, whole, {0, c.layers}, 7), InternalError);
}

TEST(Decoder, WholeSequencesOfOtherLengthsRunTogether) {
  DecoderConfig c = small();
  c.causal = false;
  const Decoder encoder(c, dummy(), WeightType::kF32);
  const std::vector<int64_t> lengths{70, 1, 33};
  const Tensor input = fixture::random({104, c.hidden}, 5);
  Tensor together = input.clone(), alone = input.clone();
  Bench two(2), one(1);
  run_whole(two.ctx, encoder, together, {0, c.layers}, lengths);
  for (int64_t i = 0, at = 0; i < 3; at += lengths[i++])
    run_whole(one.ctx, encoder, alone.view().slice(at, at + lengths[i]), {0, c.layers});
  EXPECT_TRUE(fixture::same_bits(together, alone));
  EXPECT_THROW(run_whole(one.ctx, encoder, alone, {0, c.layers}, std::vector<int64_t>{70, 33}),
               InternalError);
}

PackedLinear same_as_input(int64_t width) {
  Tensor weight({width, width}, DType::kF32);
  for (int64_t i = 0; i < width; ++i) weight.f32()[i * width + i] = 1;
  return PackedLinear::pack(weight, WeightType::kF32);
}

/// Reuses the positions of the previous step, as each step of a depth transformer does.
TEST(InnerDecoder, EachStepIsASequenceOfItsOwn) {
  const DecoderConfig c = qwen3();
  constexpr int kMost = 40;  // more than a page
  const Decoder decoder(c, dummy(), WeightType::kF32);
  const InnerDecoder inner(c, dummy(), WeightType::kF32, kMost);
  const Tensor a = fixture::random({kMost, c.hidden}, 1), b = fixture::random({kMost, c.hidden}, 2);
  const auto want = run(decoder, {&a, &b}, kMost, 1);
  Bench bench;
  const PackedLinear head = same_as_input(c.hidden);
  const Tensor scratch({static_cast<int64_t>(inner.scratch_bytes(2))}, DType::kU8);
  const Tensor top({2, c.hidden}, DType::kF32);
  EXPECT_EQ(inner.scratch_bytes(2), 2 * inner.scratch_bytes(1));
  EXPECT_EQ(inner.scratch_bytes(0), inner.scratch_bytes(1));
  const auto row = [](const Tensor& of, int64_t t) { return of.view().slice(t, t + 1); };
  for (int step = 0; step < 2; ++step) {  // the second step overwrites the cache of the first
    for (int k = 1; k < kMost; ++k) {
      bench.arena.reset();
      Tensor now({2, c.hidden}, DType::kF32), before({2, c.hidden}, DType::kF32);
      for (const auto& [s, of] : {std::pair(0, &a), std::pair(1, &b)}) {
        std::copy_n(row(*of, k).f32(), c.hidden, now.f32() + s * c.hidden);
        std::copy_n(row(*of, k - 1).f32(), c.hidden, before.f32() + s * c.hidden);
      }
      if (k == 1 && step == 0) {  // code 0 may be sampled without call 0
        inner.run(bench.ctx, 0, before.clone(), scratch, head, top);
        for (int s = 0; s < 2; ++s) EXPECT_TRUE(fixture::same_bits(row(top, s), row(want[s], 0)));
      }
      inner.run(bench.ctx, k, k == 1 ? side_by_side(bench.ctx, before, now) : now, scratch, head,
                top);
      for (int s = 0; s < 2; ++s)
        EXPECT_TRUE(fixture::same_bits(row(top, s), row(want[s], k))) << k;
    }
  }
}

TEST(InnerDecoder, CallsMayHaveWeightsOfTheirOwn) {
  DecoderConfig c = small();
  c.final_norm = false;
  const std::vector<int> schedule{0, 1, 1, 2};
  const Weights weights = dummy();
  const InnerDecoder inner(c, weights, WeightType::kF32, schedule);
  std::vector<Decoder> sets;
  for (int i = 0; i < 3; ++i)
    sets.emplace_back(c, weights.scope(std::to_string(i)), WeightType::kF32);
  Bench bench;
  const KvPool pool(c.kv_spec(DType::kF32), 2);
  const Tensor scratch({static_cast<int64_t>(inner.scratch_bytes(2))}, DType::kU8);
  for (int k = 0; k < 4; ++k) {
    const Tensor x = fixture::random({2, c.hidden}, static_cast<uint64_t>(k + 1));
    const Tensor got({2, c.hidden}, DType::kF32);
    inner.run(bench.ctx, k, x.clone(), scratch, same_as_input(c.hidden), got);
    const std::vector<int32_t> begin{0, 1, 2}, pages{0, 1}, length{k + 1, k + 1};
    const Tensor want = x.clone();
    sets[static_cast<size_t>(schedule[static_cast<size_t>(k)])].forward(
        bench.ctx, want, {begin, length, pages, 1}, pool);
    EXPECT_TRUE(fixture::same_bits(got, want)) << k;
  }
  EXPECT_EQ(inner.bytes(), 3 * sets[0].bytes());
  EXPECT_THROW(InnerDecoder(c, weights, WeightType::kF32, std::vector<int>{}), InternalError);
}

/// Returns the rows that a decoder makes of x [2, H], two sequences that attend to `memory` [M, H].
Tensor with_memory(const Decoder& decoder, const Tensor& x, const Tensor& memory) {
  const DecoderConfig& c = decoder.config();
  Bench bench;
  const KvPool own(c.kv_spec(DType::kF32), 2), others(c.kv_spec(DType::kF32), 4);
  const auto rows = static_cast<int32_t>(memory.shape()[0]);
  const std::vector<int32_t> all{0, rows}, many{rows}, table{3, 1}, each{0, 1, 2}, ones{1, 1},
      pages{0, 1}, twice{rows, rows}, both{3, 1, 3, 1};
  decoder.remember(bench.ctx, memory, {{all, many, table, 2}, &others});
  const DecoderMemory seen{{each, twice, both, 2}, &others};
  const DecoderPart part{0, {each, ones, pages, 1}, &own};
  Tensor out = x.clone();
  decoder.forward(bench.ctx, out, std::span(&part, 1), 0, {0, c.layers}, &seen);
  return out;
}

TEST(Decoder, CrossAttentionIsAMeanOverAllRowsOfTheMemory) {
  DecoderConfig c = small();
  c.cross_attention = true;
  const Decoder decoder(c, dummy(), WeightType::kF32);
  const Tensor x = fixture::random({2, c.hidden}, 1), memory = fixture::random({40, c.hidden}, 2);
  Tensor turned({40, c.hidden}, DType::kF32), doubled({40, c.hidden}, DType::kF32);
  for (int64_t i = 0; i < 40; ++i) {
    std::copy_n(memory.f32() + i * c.hidden, c.hidden, turned.f32() + (39 - i) * c.hidden);
    std::copy_n(memory.f32() + i / 2 * c.hidden, c.hidden, doubled.f32() + i * c.hidden);
  }
  Tensor half({20, c.hidden}, DType::kF32);
  std::copy_n(memory.f32(), half.view().count(), half.f32());
  const Tensor want = with_memory(decoder, x, memory);
  const auto apart = [&](const Tensor& a, const Tensor& b) {
    float worst = 0;
    for (int64_t i = 0; i < a.view().count(); ++i)
      worst = worse(worst, std::abs(a.f32()[i] - b.f32()[i]));
    return worst;
  };
  EXPECT_LT(apart(with_memory(decoder, x, turned), want), 1e-4f) << "the order does not matter";
  EXPECT_LT(apart(with_memory(decoder, x, doubled), with_memory(decoder, x, half)), 1e-4f);
  EXPECT_GT(apart(with_memory(decoder, x, half), want), 1e-3f);
  Bench bench;
  const KvPool pool(c.kv_spec(DType::kF32), 2);
  const std::vector<int32_t> each{0, 1, 2}, ones{1, 1}, pages{0, 1};
  EXPECT_THROW(decoder.forward(bench.ctx, x.clone(), {each, ones, pages, 1}, pool), InternalError);
}

TEST(ConvNeXt, StreamsLikeTheWhole) {
  const ConvNeXt block({.channels = 24}, dummy(), WeightType::kF32);
  Bench one(1), two(2);
  const Tensor a = fixture::random({40, 24}, 1), b = fixture::random({40, 24}, 2);
  Tensor whole = fixture::poisoned({40, 24}), parts = fixture::poisoned({40, 24}),
         rest = fixture::poisoned({40, 24});
  ConvState state = block.open(), sa = block.open(), sb = block.open();
  const ConvJob job{a, &state, whole};
  block.run(one.ctx, {&job, 1});
  for (int t = 0; t < 40; t += 5) {
    const ConvJob jobs[] = {{b.view().slice(t, t + 5), &sb, rest.view().slice(t, t + 5)},
                            {a.view().slice(t, t + 5), &sa, parts.view().slice(t, t + 5)}};
    block.run(two.ctx, jobs);
  }
  EXPECT_TRUE(fixture::same_bits(parts, whole));
  EXPECT_LT(fixture::difference(rest, b), 10);  // finite, and different from b
  EXPECT_FALSE(fixture::same_bits(rest, b));
}

}  // namespace
}  // namespace syrinx
