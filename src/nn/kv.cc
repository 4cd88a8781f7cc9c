#include "nn/kv.h"

namespace syrinx {

LocalKv::LocalKv(const KvSpec& spec, int max_batch, int max_positions)
    : pool_(spec, max_batch * KvPool::pages_for(max_positions)),
      max_batch_(max_batch),
      max_positions_(max_positions),
      pages_each_(static_cast<int>(KvPool::pages_for(max_positions))),
      row_begin_(max_batch + 1),
      kv_len_(max_batch),
      table_(static_cast<size_t>(max_batch) * pages_each_) {
  for (size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<int32_t>(i);
}

void LocalKv::begin(int batch) {
  SYRINX_CHECK(batch >= 0 && batch <= max_batch_, "[local_kv] ", batch, " sequences, room for ",
               max_batch_);
  batch_ = batch;
  length_ = 0;
}

Ragged LocalKv::append(int rows) {
  length_ += rows;
  SYRINX_CHECK(rows >= 0 && length_ <= max_positions_, "[local_kv] ", length_,
               " positions, room for ", max_positions_);
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

KvRings::KvRings(const KvSpec& spec, int max_streams, int window, int max_rows)
    : pages_each_(static_cast<int>(KvPool::pages_for(window + max_rows)) + 1), max_rows_(max_rows) {
  pool_ = KvPool(spec, int64_t{max_streams} * pages_each_);
  for (int i = max_streams - 1; i >= 0; --i) free_.push_back(i);
}

KvRings::Ring KvRings::open() {
  Ring ring;
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return ring;
  const int index = free_.back();
  ring.place_ = std::unique_ptr<void, Ring::GiveBack>(this, Ring::GiveBack(this, index));
  free_.pop_back();
  return ring;
}

void KvRings::close(int index) {
  const std::lock_guard lock(mutex_);
  free_.push_back(index);
}

void KvRings::Batch::clear() {
  row_begin_.resize(1);
  kv_len_.clear();
  table_.clear();
}

void KvRings::Batch::add(Ring& ring, int rows) {
  SYRINX_CHECK(!ring.empty(), "[kv_rings] a ring that is not open");
  const auto [owner, index] = ring.place_.get_deleter();
  SYRINX_CHECK(rows >= 0 && rows <= owner->max_rows_, "[kv_rings] ", rows,
               " rows at once, room for ", owner->max_rows_);
  pages_each_ = owner->pages_each_;
  ring.positions_ += rows;
  row_begin_.push_back(row_begin_.back() + rows);
  kv_len_.push_back(ring.positions_);
  for (int i = 0; i < pages_each_; ++i) table_.push_back(index * pages_each_ + i);
}

Ragged KvRings::Batch::ragged() const { return {row_begin_, kv_len_, table_, pages_each_}; }

}  // namespace syrinx
