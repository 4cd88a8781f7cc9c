// For tests: a cache of sequences that have equal lengths and grow together.
#pragma once

#include <vector>

#include "kernels/attention.h"

namespace syrinx {

/// B sequences of equal length, each with at most `max_positions` positions. Used by one thread.
class LocalKv {
 public:
  LocalKv(const KvSpec& spec, int max_batch, int max_positions)
      : pool_(spec, max_batch * KvPool::pages_for(max_positions)),
        max_batch_(max_batch),
        max_positions_(max_positions),
        pages_each_(static_cast<int>(KvPool::pages_for(max_positions))),
        row_begin_(max_batch + 1),
        kv_len_(max_batch),
        table_(static_cast<size_t>(max_batch) * pages_each_) {
    for (size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<int32_t>(i);
  }

  const KvPool& pool() const { return pool_; }
  /// Drops all sequences, and begins `batch` empty sequences.
  void begin(int batch) {
    SYRINX_CHECK(batch >= 0 && batch <= max_batch_, "[local_kv] ", batch,
                 " sequences, but at most ", max_batch_);
    batch_ = batch;
    length_ = 0;
  }
  /// Appends `rows` positions to every sequence. Returns a batch of batch * rows rows; the rows of
  /// a sequence are consecutive. The batch is valid until the next call.
  Ragged append(int rows) {
    length_ += rows;
    SYRINX_CHECK(rows >= 0 && length_ <= max_positions_, "[local_kv] ", length_,
                 " positions, but at most ", max_positions_);
    for (int b = 0; b < batch_; ++b) {
      row_begin_[b + 1] = (b + 1) * rows;
      kv_len_[b] = length_;
    }
    const size_t n = static_cast<size_t>(batch_);
    return {{row_begin_.data(), n + 1},
            {kv_len_.data(), n},
            {table_.data(), n * pages_each_},
            pages_each_};
  }

 private:
  KvPool pool_;
  int max_batch_, max_positions_, pages_each_;
  std::vector<int32_t> row_begin_, kv_len_, table_;
  int batch_ = 0, length_ = 0;
};

}  // namespace syrinx
