#include "kernels/embedding.h"

#include <algorithm>
#include <cstring>

#include "base/cpu_features.h"
#include "kernels/cuda/kernels.h"
#include "kernels/embedding_impl.h"

namespace syrinx {
namespace {

int64_t grain(int64_t width) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1)); }

auto row_loop() { return cpu_features().simd() ? &simd::embed_row : &ref::embed_row; }

void check_table(const char* caller, const View& table, int64_t width) {
  const bool known =
      table.dtype == DType::kF32 || table.dtype == DType::kF16 || table.dtype == DType::kBF16;
  SYRINX_CHECK(known && table.shape.dims() == 2 && table.shape[1] == width, "[", caller, "] table ",
               dtype_name(table.dtype), " ", table.shape.str(), ": not floats [n, ", width, "]");
}

const char* row_of(const View& table, int64_t id) {
  return static_cast<const char*>(table.data) + id * table.shape[1] * dtype_size(table.dtype);
}

}  // namespace

void embed(StepContext& ctx, const View& table, std::span<const int32_t> ids, const View& out,
           bool add) {
  SYRINX_CHECK(out.shape.dims() == 2 && out.shape[0] == static_cast<int64_t>(ids.size()),
               "[embed] ", ids.size(), " ids, but `out` is ", out.shape.str());
  const int64_t width = out.shape[1];
  check_table("embed", table, width);
  for (const int32_t id : ids)
    SYRINX_CHECK(id >= 0 && id < table.shape[0], "[embed] id ", id, ", but the table has ",
                 table.shape[0], " rows");
  if (out.device == Device::kCuda) return cuda::embed(ctx, table, ids, out, add);
  float* to = out.f32();
  const auto loop = row_loop();
  ctx.pool.parallel_for(out.shape[0], grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      loop(row_of(table, ids[i]), table.dtype, width, add, to + i * width);
  });
}

void embed_column(StepContext& ctx, const View& table, const View& codes, int column,
                  const View& out) {
  SYRINX_CHECK(codes.shape.dims() == 2 && codes.shape[0] == out.shape[0] && column >= 0 &&
                   column < codes.shape[1],
               "[embed_column] column ", column, " of ", codes.shape.str(), " does not match out ",
               out.shape.str());
  check_table("embed_column", table, out.shape[1]);
  if (out.device == Device::kCuda) return cuda::embed_column(ctx, table, codes, column, out);
  const Arena::Mark mark(ctx.host);
  std::span<int32_t> ids = take_array<int32_t>(ctx, codes.shape[0]);
  for (int64_t i = 0; i < codes.shape[0]; ++i) ids[i] = codes.i32()[i * codes.shape[1] + column];
  embed(ctx, table, ids, out);
}

void embed_sum(StepContext& ctx, std::span<const View> tables, std::span<const int32_t> ids,
               const View& out) {
  const int64_t books = static_cast<int64_t>(tables.size());
  SYRINX_CHECK(out.shape.dims() == 2 && out.shape[0] * books == static_cast<int64_t>(ids.size()),
               "[embed_sum] ", ids.size(), " ids of ", books, " tables, but `out` is ",
               out.shape.str());
  const int64_t width = out.shape[1];
  for (int64_t c = 0; c < books; ++c) {
    check_table("embed_sum", tables[c], width);
    for (int64_t i = c; i < static_cast<int64_t>(ids.size()); i += books)
      SYRINX_CHECK(ids[i] < tables[c].shape[0], "[embed_sum] id ", ids[i], " of table ", c,
                   ", which has ", tables[c].shape[0], " rows");
  }
  if (out.device == Device::kCuda) {
    const Arena::Mark mark(ctx.arena);
    const View host{const_cast<int32_t*>(ids.data()), DType::kI32, {out.shape[0], books}};
    return cuda::embed_sum(ctx, tables, upload(ctx, host), out);
  }
  float* to = out.f32();
  const auto loop = row_loop();
  ctx.pool.parallel_for(out.shape[0], grain(width * books), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memset(to + i * width, 0, static_cast<size_t>(width) * sizeof(float));
      for (int64_t c = 0; c < books; ++c)
        if (const int32_t id = ids[i * books + c]; id >= 0)
          loop(row_of(tables[c], id), tables[c].dtype, width, true, to + i * width);
    }
  });
}

void embed_sum(StepContext& ctx, std::span<const View> tables, const View& codes, const View& out) {
  SYRINX_CHECK(codes.shape.dims() == 2 && codes.shape[0] == out.shape[0] &&
                   codes.shape[1] == static_cast<int64_t>(tables.size()),
               "[embed_sum] codes ", codes.shape.str(), " of ", tables.size(),
               " tables, but `out` is ", out.shape.str());
  if (out.device != Device::kCuda) {
    const std::span<const int32_t> ids(codes.i32(), static_cast<size_t>(codes.count()));
    return embed_sum(ctx, tables, ids, out);
  }
  for (const View& table : tables) check_table("embed_sum", table, out.shape[1]);
  cuda::embed_sum(ctx, tables, codes, out);
}

void gather_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows, const View& out) {
  SYRINX_CHECK(x.dtype == DType::kF32, "[gather_rows] x must be f32, got ", dtype_name(x.dtype));
  embed(ctx, x, rows, out);
}

void to_f32(StepContext& ctx, const View& x, const View& out) {
  SYRINX_CHECK(x.count() == out.count(), "[to_f32] x is ", x.shape.str(), ", but `out` is ",
               out.shape.str());
  const View flat = x.reshape({1, x.count()});
  check_table("to_f32", flat, x.count());
  if (x.device == Device::kCuda) return cuda::to_f32(ctx, x, out);
  float* to = out.f32();
  const auto loop = row_loop();
  ctx.pool.parallel_for(x.count(), 65536, [&](int64_t begin, int64_t end) {
    loop(static_cast<const char*>(x.data) + begin * dtype_size(x.dtype), x.dtype, end - begin,
         false, to + begin);
  });
}

}  // namespace syrinx
