// Splits a batch into rows with given keys and values and rows that run through the network. A
// published voice contains keys and values for the first rows of its sequence, which are copied to
// the cache. Header only.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "model/input_rows.h"
#include "model/stage.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// The rows of a batch, split.
struct GivenKv {
  View cached;                 ///< [rows with given keys and values, numbers of a row]
  Ragged given, run;           ///< the rows of `cached`; the other rows
  std::span<int32_t> running;  ///< [sequences], index in the batch of the first row that runs

  /// Returns the index of a row of sequence b among the rows that run.
  int32_t index(size_t b, int32_t row) const { return run.row_begin[b] + row - running[b]; }
  /// Writes the keys and values of `cached` to `layers` layers of the cache. A row has the keys,
  /// then the values of each layer in turn: `heads` heads of `size` numbers.
  void write(StepContext& ctx, const KvPool& cache, int layers, int heads, int size) const {
    const int64_t width = int64_t{heads} * size;
    for (int layer = 0; layer < layers && given.rows() > 0; ++layer) {
      const int64_t keys = 2 * layer * width;
      write_kv(ctx, {cached, keys, heads, size}, {cached, keys + width, heads, size}, cache, layer,
               given);
    }
  }
};

/// Splits the rows of a batch. `is_cached`: whether a row's vector begins with `width` numbers of
/// keys and values. The result is in the arenas.
template <typename IsCached>
GivenKv split_given_kv(StepContext& ctx, const ArBatch& batch, std::span<const GivenRow> vectors,
                       int64_t width, const IsCached& is_cached) {
  const int64_t count = std::ssize(batch.seqs);
  const std::span<int32_t> run = take_array<int32_t>(ctx, count + 1);
  const std::span<int32_t> given = take_array<int32_t>(ctx, count + 1);
  const std::span<int32_t> given_len = take_array<int32_t>(ctx, count);
  GivenKv out;
  out.running = take_array<int32_t>(ctx, count);
  const Ragged& r = batch.ragged;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    const int32_t begin = r.row_begin[b], end = r.row_begin[b + 1];
    int32_t at = begin;
    while (at < end && is_cached(vectors[static_cast<size_t>(at)])) ++at;
    out.running[b] = at;
    given[b + 1] = given[b] + at - begin;
    run[b + 1] = run[b] + end - at;
    given_len[b] = r.kv_len[b] - (end - at);
  }
  out.run = resident(ctx, {run, r.kv_len, r.page_table, r.max_pages});
  out.given = resident(ctx, {given, given_len, r.page_table, r.max_pages});
  out.cached = take_rows(ctx, out.given.rows(), width);
  int64_t next = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    for (int32_t row = r.row_begin[b]; row < out.running[b]; ++row, ++next) {
      const GivenRow vector = vectors[static_cast<size_t>(row)];
      store(ctx, vector.first(static_cast<size_t>(width)), out.cached.slice(next, next + 1));
    }
  }
  return out;
}

}  // namespace syrinx
