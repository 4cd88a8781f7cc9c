// Copies and sums of table rows, conversions, and merging of guided logits.
#include <vector>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

constexpr int kMaxTables = 64;

struct Table {
  const void* data;
  DType dtype;
};

__device__ inline float element(const Table& t, int64_t i) {
  if (t.dtype == DType::kF32) return static_cast<const float*>(t.data)[i];
  const uint16_t h = static_cast<const uint16_t*>(t.data)[i];
  return t.dtype == DType::kF16 ? gpu::f16_to_float(h) : gpu::bf16_to_float(h);
}

struct Embed {
  Table table;
  const int32_t* ids;
  float* out;
  int64_t width;
  bool add;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const float x = element(table, ids[at.row] * width + at.column);
    out[i] = add ? out[i] + x : x;
  }
};

struct EmbedColumn {
  Table table;
  const int32_t* codes;  // first row of the column
  int64_t stride;
  RowsOut out;
  int64_t width;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    put_number(out, i, element(table, codes[at.row * stride] * width + at.column));
  }
};

struct EmbedSum {
  Table tables[kMaxTables];
  int books;
  const int32_t* ids;
  float* out;
  int64_t width;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const int32_t* row = ids + at.row * books;
    float sum = 0;
    for (int c = 0; c < books; ++c)
      if (row[c] >= 0) sum += element(tables[c], row[c] * width + at.column);
    out[i] = sum;
  }
};

struct Convert {
  Table from;
  float* to;
  __device__ void operator()(int64_t i) const { to[i] = element(from, i); }
};

/// Merges the logits of guided rows in place. Columns are independent; within a column, rows are
/// merged in order.
struct Merge {
  float* logits;
  const GuidedRow* rows;
  int64_t count, width;
  __device__ void operator()(int64_t v) const {
    for (int64_t i = 0; i < count; ++i) {
      const float with = logits[rows[i].row * width + v];
      float merged = with;
      if (rows[i].guided && rows[i].scale != 1) {
        const float without = logits[(rows[i].row + 1) * width + v];
        merged = without + rows[i].scale * (with - without);
      }
      logits[i * width + v] = merged;
    }
  }
};

}  // namespace

void embed(StepContext& ctx, const View& table, std::span<const int32_t> ids, const View& out,
           bool add) {
  const Arena::Mark mark(ctx.arena);
  for_each(ctx, "embed", out.count(),
           Embed{{table.data, table.dtype}, upload(ctx, ids), out.f32(), out.shape[1], add});
}

void embed_column(StepContext& ctx, const View& table, const View& codes, int column,
                  const View& out) {
  for_each(ctx, "embed_column", out.count(),
           EmbedColumn{{table.data, table.dtype},
                       codes.i32() + column,
                       codes.shape[1],
                       rows_out(out),
                       out.shape[1]});
}

void embed_sum(StepContext& ctx, std::span<const View> tables, const View& codes, const View& out) {
  SYRINX_CHECK(tables.size() <= kMaxTables, "[embed_sum] at most ", kMaxTables, " tables, got ",
               tables.size());
  EmbedSum f{};
  f.books = static_cast<int>(tables.size());
  for (size_t c = 0; c < tables.size(); ++c) f.tables[c] = {tables[c].data, tables[c].dtype};
  f.ids = codes.i32();
  f.out = out.f32();
  f.width = out.shape[1];
  for_each(ctx, "embed_sum", out.count(), f);
}

void to_f32(StepContext& ctx, const View& x, const View& out) {
  for_each(ctx, "to_f32", x.count(), Convert{{x.data, x.dtype}, out.f32()});
}

void merge_guidance(StepContext& ctx, const View& logits, std::span<const GuidedRow> rows) {
  const Arena::Mark mark(ctx.arena);
  for_each(
      ctx, "merge_guidance", logits.shape[1],
      Merge{logits.f32(), upload(ctx, rows), static_cast<int64_t>(rows.size()), logits.shape[1]});
}

}  // namespace syrinx::cuda
