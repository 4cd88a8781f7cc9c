#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "base/cpu_features.h"
#include "kernels/attention_impl.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::Bench;

class AttentionTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, AttentionTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

struct AttentionCase {
  int heads, kv_heads, dim;
  DType dtype = DType::kF32;
  int window = 0;
  bool causal = true;
  float cap = 0;
  bool sloped = false, bytes = false;  // bytes: KvSpec::byte_products
  int missing = 0;                     // heads without a slope

  /// Returns a slope per head, none of them a power of two; empty without slopes.
  Tensor slopes() const {
    Tensor all = sloped ? Tensor({heads - missing}, DType::kF32) : Tensor();
    for (int h = 0; sloped && h < heads - missing; ++h) all.f32()[h] = 0.3f / float(h + 1);
    return all;
  }
};

// One sequence: q, k and v of all positions, and the attention that is expected.
struct Sequence {
  Sequence(const AttentionCase& c, int length, unsigned seed)
      : q(fixture::random({length, c.heads * c.dim}, seed)),
        k(fixture::random({length, c.kv_heads * c.dim}, seed + 1)),
        v(fixture::random({length, c.kv_heads * c.dim}, seed + 2)) {}
  Tensor q, k, v;
};

/// Computes attention from the formula, in double, without a cache.
Tensor formula(const AttentionCase& c, const Sequence& s, float scale) {
  const int64_t length = s.q.shape()[0];
  Tensor out(s.q.shape(), DType::kF32);
  const Tensor slopes = c.slopes();
  for (int64_t i = 0; i < length; ++i) {
    for (int h = 0; h < c.heads; ++h) {
      const int kv = h / (c.heads / c.kv_heads);
      const int64_t last = c.causal ? i + 1 : length;
      const int64_t first = c.window ? std::max<int64_t>(0, i + 1 - c.window) : 0;
      std::vector<double> w;
      double total = 0;
      for (int64_t j = first; j < last; ++j) {
        double dot = 0;
        for (int d = 0; d < c.dim; ++d)
          dot += double{s.q.f32()[(i * c.heads + h) * c.dim + d]} *
                 s.k.f32()[(j * c.kv_heads + kv) * c.dim + d];
        double score = c.cap > 0 ? c.cap * std::tanh(dot * scale / c.cap) : dot * scale;
        if (c.sloped) score += slopes.f32()[h] * static_cast<double>(j - i);
        w.push_back(std::exp(score));
        total += w.back();
      }
      for (int d = 0; d < c.dim; ++d) {
        double mix = 0;
        for (int64_t j = first; j < last; ++j)
          mix += w[j - first] * s.v.f32()[(j * c.kv_heads + kv) * c.dim + d];
        out.f32()[(i * c.heads + h) * c.dim + d] = static_cast<float>(mix / total);
      }
    }
  }
  return out;
}

/// Runs the sequences through a pool: `chunk` rows of each sequence per call, in one batch. If the
/// page table is shorter than a sequence, it is a ring.
class Runner {
 public:
  Runner(const AttentionCase& c, std::vector<const Sequence*> sequences, int max_pages,
         Device device = Device::kCpu)
      : case_(c),
        sequences_(std::move(sequences)),
        max_pages_(max_pages),
        device_(device),
        table_(sequences_.size() * max_pages) {
    std::iota(table_.rbegin(), table_.rend(), 2);  // pages in descending order, some of them unused
    const KvSpec spec{2, c.kv_heads, c.dim, c.dtype, c.bytes};
    const auto pages = static_cast<int64_t>(table_.size()) + 3;
    Tensor memory({static_cast<int64_t>(KvPool::page_bytes(spec)) * pages}, DType::kU8);
    std::memset(memory.view().data, 0xff, memory.bytes());  // all bytes 0xff, which is NaN
    memory_ = device == Device::kCpu ? std::move(memory) : copy_to(memory, device);
    pool_ = KvPool(spec, pages, memory_);
  }

  std::vector<Tensor> run(int chunk, int threads) {
    Bench bench(threads, device_);
    std::vector<Tensor> outs;
    for (const Sequence* s : sequences_) outs.push_back(fixture::poisoned(s->q.shape()));
    for (int done = 0, more = 1; more; done += chunk) {
      more = step(bench, done, chunk, outs);
      bench.arena.reset();
    }
    return outs;
  }

 private:
  bool step(Bench& bench, int done, int chunk, std::vector<Tensor>& outs) {
    std::vector<int32_t> begin{0}, length;
    for (const Sequence* s : sequences_) {
      const int all = static_cast<int>(s->q.shape()[0]);
      const int rows = std::clamp(all - done, 0, chunk);
      begin.push_back(begin.back() + rows);
      length.push_back(std::min(all, done + rows));
    }
    const int n = begin.back();
    if (n == 0) return false;
    const int qw = case_.heads * case_.dim, kw = case_.kv_heads * case_.dim;
    Tensor qkv({n, qw + 2 * kw}, DType::kF32), out = fixture::poisoned({n, qw});
    for (size_t b = 0; b < sequences_.size(); ++b) {
      for (int i = begin[b]; i < begin[b + 1]; ++i) {
        const int64_t at = length[b] - begin[b + 1] + i;
        float* row = qkv.f32() + int64_t{i} * (qw + 2 * kw);
        std::copy_n(sequences_[b]->q.f32() + at * qw, qw, row);
        std::copy_n(sequences_[b]->k.f32() + at * kw, kw, row + qw);
        std::copy_n(sequences_[b]->v.f32() + at * kw, kw, row + qw + kw);
      }
    }
    const Ragged ragged{begin, length, table_, max_pages_};
    StepContext& ctx = bench.ctx;
    const View rows = bench.on(qkv), to = bench.on(out);
    const HeadsView q{rows, 0, case_.heads, case_.dim};
    const HeadsView k{rows, qw, case_.kv_heads, case_.dim};
    const HeadsView v{rows, qw + kw, case_.kv_heads, case_.dim};
    const Tensor slopes = case_.slopes();
    const AttentionSpec spec{0.3f, case_.window, case_.causal, {}, {}, case_.cap, bench.on(slopes)};
    if (done % 2) {
      write_kv(ctx, k, v, pool_, 1, ragged);
      paged_attention(ctx, q, pool_, 1, ragged, spec, to);
    } else {
      write_and_attend(ctx, q, k, v, pool_, 1, ragged, spec, to);
    }
    bench.back();
    for (size_t b = 0; b < sequences_.size(); ++b)
      std::copy_n(out.f32() + int64_t{begin[b]} * qw, int64_t{begin[b + 1] - begin[b]} * qw,
                  outs[b].f32() + int64_t{length[b] - (begin[b + 1] - begin[b])} * qw);
    return true;
  }

  AttentionCase case_;
  std::vector<const Sequence*> sequences_;
  int max_pages_;
  Device device_;
  Tensor memory_;
  KvPool pool_;
  std::vector<int32_t> table_;
};

TEST_P(AttentionTest, AgreesWithTheFormulaOnOddShapes) {
  for (const AttentionCase& c :
       {AttentionCase{1, 1, 8}, AttentionCase{2, 1, 32}, AttentionCase{4, 2, 48},
        AttentionCase{3, 3, 64}, AttentionCase{10, 2, 80}, AttentionCase{4, 4, 96},
        AttentionCase{16, 1, 128}, AttentionCase{26, 1, 40}}) {
    const bool few = fixture::emulated(GetParam());
    for (const int length : few ? std::vector{5, 133} : std::vector{1, 5, 31, 32, 33, 129, 200}) {
      const Sequence s(c, length, 7);
      const auto got = Runner(c, {&s}, 8, GetParam()).run(length, 1);
      EXPECT_LT(fixture::difference(got[0], formula(c, s, 0.3f)), 3e-6)
          << c.heads << "/" << c.kv_heads << " x " << c.dim << ", " << length;
    }
  }
}

TEST_P(AttentionTest, HalfCachesAreCloseAndMasksWork) {
  const std::pair<AttentionCase, double> cases[] = {
      {{4, 2, 64, DType::kF16}, 2e-3},
      {{4, 2, 64, DType::kBF16}, 2e-2},
      {{4, 2, 64, DType::kI8}, 1.5e-2},
      {{4, 2, 64, DType::kF32, 40}, 3e-6},
      {{4, 2, 64, DType::kF32, 1}, 3e-6},
      {{4, 2, 64, DType::kF32, 0, false}, 3e-6},
      {{2, 2, 64, DType::kI8, 0, false, 0, false, true}, 3e-2}};
  for (const auto& [c, bound] : cases) {
    const Sequence s(c, 150, 3);
    const auto got = Runner(c, {&s}, 8, GetParam()).run(150, 2);
    EXPECT_LT(fixture::difference(got[0], formula(c, s, 0.3f)), bound) << dtype_name(c.dtype);
  }
}

// Tensor cores round queries and weights to the type of the cache. Checks the errors that
// attention.h states, and that a prompt in small pieces has the bits of the whole prompt.
TEST_P(AttentionTest, TensorCoresAddAnErrorLikeThatOfTheCache) {
  if (GetParam() == Device::kCpu) return;
  for (const AttentionCase& c :
       {AttentionCase{8, 1, 128, DType::kF16}, AttentionCase{4, 2, 80, DType::kBF16, 45},
        AttentionCase{3, 3, 24, DType::kF16, 0, false}}) {
    const Sequence s(c, 150, 3);
    const Tensor want = formula(c, s, 0.3f);
    const auto got = Runner(c, {&s}, 8, GetParam()).run(150, 1);
    setenv("SYRINX_GPU_ATTENTION", "f32", 1);
    const auto plain = Runner(c, {&s}, 8, GetParam()).run(150, 1);
    unsetenv("SYRINX_GPU_ATTENTION");
    const double error = fixture::relative_rms(got[0], want),
                 of_cache = fixture::relative_rms(plain[0], want);
    std::printf("%s x %d relative RMS error: %.5f, on ordinary cores %.5f\n", dtype_name(c.dtype),
                c.dim, error, of_cache);
    EXPECT_LT(error, 2 * of_cache);
    EXPECT_GT(error, of_cache);  // otherwise both ran on the same cores
    const auto pieces = Runner(c, {&s}, 8, GetParam()).run(c.causal ? 3 : 150, 1);
    EXPECT_TRUE(fixture::same_bits(pieces[0], got[0])) << dtype_name(c.dtype);
  }
}

// 8 kv heads x 8,192 tiles exceed the limit of a GPU grid's second and third size. The launch is
// only counted, because an emulation of 65,536 blocks takes minutes.
TEST_P(AttentionTest, APromptMayHaveMoreTilesThanAGridIsHigh) {
  if (GetParam() == Device::kCpu) return;
  constexpr int kRows = 2048, kHeads = 128, kDim = 8;
  struct Noted {};
  Bench bench(1, GetParam());
  StepContext& ctx = bench.ctx;
  const int pages = static_cast<int>(KvPool::pages_for(kRows));
  const KvPool pool({1, 8, kDim, DType::kF16}, pages, GetParam());
  std::vector<int32_t> table(static_cast<size_t>(pages));
  const std::vector<int32_t> begin{0, kRows}, length{kRows};
  const Ragged ragged{begin, length, table, pages};
  EXPECT_THROW(ctx.stream->repeat([&] {
    const View q = ctx.arena.take({kRows, kHeads * kDim}, DType::kF32);
    const View out = ctx.arena.take(q.shape, DType::kF32);
    paged_attention(ctx, {q, 0, kHeads, kDim}, pool, 0, ragged, {}, out);
    throw Noted{};
  }),
               Noted);
}

TEST_P(AttentionTest, SameBitsInAnyBatchChunkAndThreads) {
  std::vector<AttentionCase> cases{{4, 2, 64, DType::kF16}, {3, 1, 72, DType::kI8, 45}};
  std::vector<int> chunks{3, 128};  // chunks of 3 distribute groups over blocks on a GPU
  if (!fixture::emulated(GetParam())) {
    chunks = {1, 7, 64, 128, 300};
    cases.insert(cases.end(),
                 {{6, 6, 48, DType::kF32, 50}, {8, 1, 40, DType::kBF16}, {4, 2, 64, DType::kI8}});
  }
  for (const AttentionCase& c : cases) {
    const Sequence a(c, 300, 1), b(c, 77, 2), d(c, 1, 3), e(c, 140, 4);
    const auto alone = Runner(c, {&a}, 10, GetParam()).run(300, 1);
    for (const int chunk : chunks) {
      for (const int threads : GetParam() == Device::kCpu ? std::vector{1, 2, 3} : std::vector{1}) {
        const auto batch = Runner(c, {&b, &a, &d, &e}, 10, GetParam()).run(chunk, threads);
        EXPECT_TRUE(fixture::same_bits(batch[1], alone[0])) << "chunk " << chunk;
      }
    }
  }
}

TEST_P(AttentionTest, CappedScoresAreThoseOfTheFormulaInAnyBatchAndChunk) {
  const bool few = fixture::emulated(GetParam());
  for (const DType dtype : {DType::kF32, DType::kI8}) {
    const AttentionCase c{4, 2, 64, dtype, 60, true, 1.5f};
    const Sequence a(c, 150, 3), b(c, 70, 4);
    const Tensor want = formula(c, a, 0.3f);
    AttentionCase uncapped = c;
    uncapped.cap = 0;
    EXPECT_GT(fixture::difference(formula(uncapped, a, 0.3f), want), 0.05);
    const bool host = GetParam() == Device::kCpu;
    const auto alone = Runner(c, {&a}, 8, GetParam()).run(150, host ? 2 : 1);
    EXPECT_LT(fixture::difference(alone[0], want), dtype == DType::kF32 ? 3e-6 : 1.5e-2);
    for (const int chunk : few ? std::vector{64} : std::vector{1, 7, 64}) {
      const auto batch = Runner(c, {&b, &a}, 8, GetParam()).run(chunk, host ? 3 : 1);
      EXPECT_TRUE(fixture::same_bits(batch[1], alone[0])) << chunk;
    }
  }
}

TEST_P(AttentionTest, SlopesAreThoseOfTheFormulaInAnyBatchAndChunk) {
  const AttentionCase refused{4, 2, 64, DType::kF32, 60, true, 0, true, false, 1};
  const Sequence short_one(refused, 4, 3);
  EXPECT_THROW(Runner(refused, {&short_one}, 12, GetParam()).run(4, 1), InternalError);
  const bool few = fixture::emulated(GetParam());
  const int length = few ? 150 : 250;
  for (const AttentionCase& c : {AttentionCase{3, 3, 8, DType::kF32, 0, true, 1.5f, true},
                                 AttentionCase{26, 1, 40, DType::kF32, 17, true, 0, true},
                                 AttentionCase{20, 1, 48, DType::kF16, 40, true, 0, true},
                                 AttentionCase{8, 8, 16, DType::kI8, 3, true, 0, true}}) {
    const Sequence a(c, length, 3), b(c, 70, 4);
    const Tensor want = formula(c, a, 0.3f);
    const AttentionCase level{c.heads, c.kv_heads, c.dim, c.dtype, c.window, c.causal, c.cap};
    EXPECT_GT(fixture::difference(formula(level, a, 0.3f), want), 0.05);
    const auto alone = Runner(c, {&a}, 12, GetParam()).run(length, 2);
    const double bound = c.dtype == DType::kF32 ? 3e-6 : c.dtype == DType::kF16 ? 2e-3 : 1.5e-2;
    EXPECT_LT(fixture::difference(alone[0], want), bound) << c.heads << dtype_name(c.dtype);
    for (const int chunk : few ? std::vector{3, 64} : std::vector{1, 7, 64}) {
      const auto batch = Runner(c, {&b, &a}, 12, GetParam()).run(chunk, 3);
      EXPECT_TRUE(fixture::same_bits(batch[1], alone[0])) << c.heads << " chunk " << chunk;
    }
  }
}

TEST_P(AttentionTest, AWindowNeedsOnlyARingOfPages) {
  const AttentionCase c{4, 4, 64, DType::kF32, 72};
  const Sequence a(c, 500, 1), b(c, 410, 2);
  const auto whole = Runner(c, {&a, &b}, 16, GetParam()).run(500, 1);
  const bool few = fixture::emulated(GetParam());
  for (const int chunk : few ? std::vector{25} : std::vector{1, 10, 25}) {
    // The ring has 160 positions. It needs at least 72 + 25 + 32: window, rows and one page.
    const auto ring = Runner(c, {&a, &b}, 5, GetParam()).run(chunk, 2);
    EXPECT_TRUE(fixture::same_bits(ring[0], whole[0])) << chunk;
    EXPECT_TRUE(fixture::same_bits(ring[1], whole[1])) << chunk;
  }
}

// Sequences that begin with rows of another network (the memory). Later rows attend only to each
// other (self), or only to the memory (cross).
struct Remembering {
  Sequence rows;
  int memory = 0;
  int length() const { return static_cast<int>(rows.q.shape()[0]); }
};

/// Computes attention of row `i` of a remembering sequence from the formula: [heads * dim].
std::vector<float> bounded_row(const AttentionCase& c, const Remembering& s, int i, bool cross) {
  int first = cross ? 0 : s.memory;
  if (c.window) first = std::max(first, i + 1 - c.window);
  const int last = cross ? s.memory : i + 1;
  std::vector<float> out;
  for (int h = 0; h < c.heads; ++h) {
    const int kv = h / (c.heads / c.kv_heads);
    const auto at = [&](const Tensor& x, int row) {
      return x.f32() + (int64_t{row} * c.kv_heads + kv) * c.dim;
    };
    std::vector<double> mix(static_cast<size_t>(c.dim));
    double total = 0;
    for (int j = first; j < last; ++j) {
      double dot = 0;
      for (int d = 0; d < c.dim; ++d)
        dot += double{s.rows.q.f32()[(int64_t{i} * c.heads + h) * c.dim + d]} * at(s.rows.k, j)[d];
      const double weight = std::exp(dot * 0.3);
      total += weight;
      for (int d = 0; d < c.dim; ++d) mix[static_cast<size_t>(d)] += weight * at(s.rows.v, j)[d];
    }
    for (const double x : mix) out.push_back(static_cast<float>(x / total));
  }
  return out;
}

/// Runs attention for all rows after Remembering::memory rows, `chunk` rows of each sequence per
/// call. Returns the results [rows, width] of each sequence.
std::vector<Tensor> attend_bounded(const AttentionCase& c,
                                   const std::vector<const Remembering*>& all, bool cross,
                                   int chunk, int threads, Device device) {
  constexpr int kTablePages = 12;
  const int width = c.heads * c.dim;
  const auto count = static_cast<int>(all.size());
  Bench bench(threads, device);
  std::vector<int32_t> table(static_cast<size_t>(count * kTablePages));
  std::iota(table.rbegin(), table.rend(), 1);
  const KvPool pool({1, c.kv_heads, c.dim, c.dtype}, std::ssize(table) + 1, device);
  std::vector<int32_t> begins, ends, lengths, starts{0};
  std::vector<Tensor> outs;
  std::vector<float> k, v;
  for (const Remembering* s : all) {
    begins.push_back(cross ? 0 : s->memory);
    ends.push_back(cross ? s->memory : s->length());
    lengths.push_back(s->length());
    starts.push_back(starts.back() + s->length());
    outs.push_back(fixture::poisoned({s->length() - s->memory, width}));
    k.insert(k.end(), s->rows.k.f32(), s->rows.k.f32() + s->rows.k.view().count());
    v.insert(v.end(), s->rows.v.f32(), s->rows.v.f32() + s->rows.v.view().count());
  }
  const Shape shape{starts.back(), c.kv_heads * c.dim};
  Tensor keys(shape, DType::kF32), values(shape, DType::kF32);
  std::copy(k.begin(), k.end(), keys.f32());
  std::copy(v.begin(), v.end(), values.f32());
  write_kv(bench.ctx, all_heads(bench.on(keys), c.kv_heads),
           all_heads(bench.on(values), c.kv_heads), pool, 0, {starts, lengths, table, kTablePages});
  const AttentionSpec spec{0.3f, c.window, !cross, begins, ends};
  for (int done = 0;; done += chunk) {
    std::vector<int32_t> rows{0}, seen;
    for (const Remembering* s : all) {
      const int begin = std::min(s->memory + done, s->length());
      seen.push_back(std::min(begin + chunk, s->length()));
      rows.push_back(rows.back() + seen.back() - begin);
    }
    if (rows.back() == 0) return outs;
    Tensor q({rows.back(), width}, DType::kF32), out = fixture::poisoned({rows.back(), width});
    for (int b = 0; b < count; ++b) {
      const int n = rows[b + 1] - rows[b];
      std::copy_n(all[b]->rows.q.f32() + int64_t{seen[b] - n} * width, int64_t{n} * width,
                  q.f32() + int64_t{rows[b]} * width);
    }
    paged_attention(bench.ctx, all_heads(bench.on(q), c.heads), pool, 0,
                    {rows, seen, table, kTablePages}, spec, bench.on(out));
    bench.back();
    for (int b = 0; b < count; ++b) {
      const int n = rows[b + 1] - rows[b];
      std::copy_n(out.f32() + int64_t{rows[b]} * width, int64_t{n} * width,
                  outs[b].f32() + int64_t{seen[b] - n - all[b]->memory} * width);
    }
    bench.arena.reset();
  }
}

TEST_P(AttentionTest, SequencesSeeWithinTheirBoundsOnly) {
  for (const AttentionCase& c :
       {AttentionCase{4, 2, 64, DType::kF32}, AttentionCase{3, 3, 8, DType::kF16},
        AttentionCase{2, 2, 64, DType::kF32, 9}, AttentionCase{4, 1, 64, DType::kI8}}) {
    const Remembering a{Sequence(c, 210, 1), 150}, b{Sequence(c, 40, 2), 1},
        d{Sequence(c, 140, 3), 128};
    for (const bool cross : {false, true}) {
      if (cross && c.window) continue;
      const auto got = attend_bounded(c, {&a, &b, &d}, cross, 1000, 2, GetParam());
      const double bound = c.dtype == DType::kF32 ? 3e-6 : c.dtype == DType::kF16 ? 2e-3 : 4e-2;
      size_t index = 0;
      for (const Remembering* s : {&a, &b, &d}) {
        const Tensor& rows = got[index++];
        Tensor want(rows.shape(), DType::kF32);
        for (int i = s->memory; i < s->length(); ++i) {
          const auto row = bounded_row(c, *s, i, cross);
          std::copy(row.begin(), row.end(), want.f32() + (i - s->memory) * rows.shape()[1]);
        }
        EXPECT_LT(fixture::difference(rows, want), bound)
            << dtype_name(c.dtype) << (cross ? ", cross, " : ", self, ") << s->memory;
      }
      const auto alone = attend_bounded(c, {&a}, cross, 60, 1, GetParam());
      for (const int chunk : {1, 7, 60}) {
        if (chunk == 1 && fixture::emulated(GetParam())) continue;
        const auto batch = attend_bounded(c, {&b, &d, &a}, cross, chunk, 2, GetParam());
        EXPECT_TRUE(fixture::same_bits(batch[2], alone[0])) << dtype_name(c.dtype) << chunk;
      }
    }
  }
}

TEST(Attention, PlainHeedsBounds) {
  const AttentionCase c{1, 1, 16};
  const Remembering s{Sequence(c, 70, 4), 45};
  KvPool pool({1, 1, 16, DType::kF32}, 3);
  for (int i = 0; i < s.length(); ++i) {
    ref::write_kv_rows({.k = s.rows.k.f32() + i * 16,
                        .v = s.rows.v.f32() + i * 16,
                        .keys = static_cast<char*>(pool.keys(0, i / 32, 0)),
                        .dim = 16,
                        .slot = i % 32});
  }
  for (const bool cross : {false, true}) {
    Tensor out({1, 16}, DType::kF32), want({1, 16}, DType::kF32);
    const int32_t table[] = {0, 1, 2};
    AttentionTile tile;
    tile.q = s.rows.q.f32() + 60 * 16, tile.out = out.f32();
    tile.rows = 1, tile.group = 1, tile.dim = 16;
    tile.position = 60, tile.kv_len = 70;
    tile.head = static_cast<const char*>(pool.keys(0, 0, 0));
    tile.page_bytes = static_cast<int64_t>(KvPool::page_bytes(pool.spec()));
    tile.table = table, tile.max_pages = 3;
    tile.scale = 0.3f, tile.causal = !cross;
    cross ? tile.end = 45 : tile.begin = 45;
    ref::attend(tile);
    const auto row = bounded_row(c, s, 60, cross);
    std::copy(row.begin(), row.end(), want.f32());
    EXPECT_LT(fixture::difference(out, want), 3e-6);
  }
}

TEST(Attention, PlainAndFastAgree) {
  if (!cpu_features().simd()) GTEST_SKIP() << "no AVX2 or NEON";
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    const KvSpec spec{1, 1, 64, dtype};
    const KvPool pool(spec, 4);
    const Tensor k = fixture::random({100, 64}, 1), v = fixture::random({100, 64}, 2);
    for (int page = 0; page < 4; ++page) {
      simd::write_kv_rows({k.f32() + page * 32 * 64, v.f32() + page * 32 * 64, 64, 64,
                           static_cast<char*>(pool.keys(0, page, 0)), 64, 0, page < 3 ? 32 : 4,
                           dtype});
    }
    const Tensor q = fixture::random({3, 128}, 3);
    Tensor plain = fixture::poisoned({3, 128});
    const int32_t table[] = {0, 1, 2, 3};
    AttentionTile tile;
    tile.q = q.f32();
    tile.q_stride = tile.out_stride = 128;
    tile.out = plain.f32();
    tile.rows = 3, tile.group = 2, tile.dim = 64;
    tile.position = 97, tile.kv_len = 100;
    tile.head = static_cast<const char*>(pool.keys(0, 0, 0));
    tile.page_bytes = static_cast<int64_t>(KvPool::page_bytes(spec));
    tile.table = table, tile.max_pages = 4;
    tile.dtype = dtype;
    tile.scale = 0.125f;
    ref::attend(tile);

    Bench bench;
    Tensor out = fixture::poisoned({3, 128});
    const std::vector<int32_t> begin{0, 3}, length{100};
    paged_attention(bench.ctx, all_heads(q, 2), pool, 0, {begin, length, table, 4}, {0.125f}, out);
    // The caches are exact here, but i8 and bf16 round q and weights of positions to 15 and 8 bits.
    const double bound = dtype == DType::kI8 ? 1e-4 : dtype == DType::kBF16 ? 5e-3 : 1e-6;
    EXPECT_LT(fixture::difference(out, plain), bound) << dtype_name(dtype);
  }
}

TEST_P(AttentionTest, ANanStaysInItsSequence) {
  for (const DType dtype : {DType::kF16, DType::kI8}) {
    const AttentionCase c{2, 2, 32, dtype};
    Sequence a(c, 40, 1);
    const Sequence b(c, 40, 2);
    a.v.f32()[5] = NAN;
    const auto alone = Runner(c, {&b}, 2, GetParam()).run(40, 1);
    const auto both = Runner(c, {&a, &b}, 2, GetParam()).run(40, 1);
    EXPECT_TRUE(std::isnan(both[0].f32()[39 * 64 + 5]));
    EXPECT_TRUE(fixture::same_bits(both[1], alone[0]));
  }
}

/// A sequence that fills its pages needs no further page.
TEST(Attention, PagesMayBeFull) {
  Bench bench;
  const KvPool pool({1, 2, 32, DType::kF16}, 2);
  const Tensor q = fixture::random({1, 64}, 1);
  Tensor out({1, 64}, DType::kF32);
  const std::vector<int32_t> begin{0, 1}, none{0, -1};
  for (const int32_t positions : {31, 32}) {
    const std::vector<int32_t> length{positions};
    for (const int max_pages : {1, 2}) {
      const std::span table(none.data(), static_cast<size_t>(max_pages));
      EXPECT_NO_THROW(paged_attention(bench.ctx, all_heads(q, 2), pool, 0,
                                      {begin, length, table, max_pages}, {}, out));
    }
  }
}

/// copy_page() must copy all layers of a page, and must not change other pages.
TEST(Attention, APageIsCopiedWithAllItsLayers) {
  const KvSpec spec{3, 2, 8, DType::kF32};
  const KvPool from(spec, 2), to(spec, 3);
  constexpr int kCount = 2 * 8 * KvPool::kPageRows;  // keys and values of a head
  const auto first = [](const KvPool& pool, int layer, int64_t page, int head) {
    return static_cast<float*>(pool.keys(layer, page, head));
  };
  for (int layer = 0; layer < 3; ++layer) {
    for (int64_t page = 0; page < 2; ++page) {
      for (int head = 0; head < 2; ++head) {
        std::iota(first(from, layer, page, head), first(from, layer, page, head) + kCount,
                  static_cast<float>(1 + 10000 * (layer * 4 + page * 2 + head)));
      }
    }
  }
  to.copy_page(from, 1, 2);
  for (int layer = 0; layer < 3; ++layer) {
    for (int64_t page = 0; page < 3; ++page) {
      for (int head = 0; head < 2; ++head) {
        const float begin =
            page < 2 ? 0.0f : static_cast<float>(1 + 10000 * (layer * 4 + 2 + head));
        const float step = page < 2 ? 0.0f : 1.0f;
        for (int i = 0; i < kCount; ++i) {
          ASSERT_EQ(first(to, layer, page, head)[i], begin + step * static_cast<float>(i))
              << "layer " << layer << ", page " << page << ", head " << head;
        }
      }
    }
  }
}

TEST(Attention, WrongUseIsNamed) {
  Bench bench;
  KvPool pool({1, 2, 32, DType::kF16}, 2);
  const Tensor q = fixture::random({1, 64}, 1);
  Tensor out({1, 64}, DType::kF32);
  const std::vector<int32_t> begin{0, 1}, length{33};
  const auto attend = [&](std::vector<int32_t> table, int max_pages, int layer) {
    paged_attention(bench.ctx, all_heads(q, 2), pool, layer, {begin, length, table, max_pages}, {},
                    out);
  };
  attend({0, 1}, 2, 0);
  EXPECT_THROW(attend({0, 1}, 2, 1), InternalError);   // the layer does not exist
  EXPECT_THROW(attend({0, 2}, 2, 0), InternalError);   // the page does not exist
  EXPECT_THROW(attend({0, -1}, 2, 0), InternalError);  // the page is not assigned
  EXPECT_THROW(attend({0}, 1, 0), InternalError);      // the page table is too short
  const auto bounded = [&](std::vector<int32_t> from, std::vector<int32_t> to) {
    const std::vector<int32_t> table{0, 1};
    paged_attention(bench.ctx, all_heads(q, 2), pool, 0, {begin, length, table, 2},
                    {.begin = from, .end = to}, out);
  };
  bounded({32}, {});
  EXPECT_THROW(bounded({33}, {}), InternalError);    // the row has no position to attend to
  EXPECT_THROW(bounded({0}, {0}), InternalError);    // the bounds exclude all positions
  EXPECT_THROW(bounded({-1}, {}), InternalError);    // a negative position
  EXPECT_THROW(bounded({0, 0}, {}), InternalError);  // two bounds for one sequence
  EXPECT_THROW(KvPool({1, 2, 30, DType::kF16}, 2), InternalError);
  EXPECT_THROW(KvPool({1, 2, 32, DType::kU8}, 2), InternalError);
}

}  // namespace
}  // namespace syrinx
