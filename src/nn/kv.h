// Two simple owners of cache pages, for stages that manage their own: sequences of equal length
// that live for one frame (depth transformers), and endless streams that see a sliding window
// (codec transformers). The engine's paged cache is elsewhere; all are read as a Ragged.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "kernels/attention.h"

namespace syrinx {

/// B sequences in step, each of at most `max_positions`. Used by one thread.
class LocalKv {
 public:
  LocalKv() = default;
  LocalKv(const KvSpec& spec, int max_batch, int max_positions);

  const KvPool& pool() const { return pool_; }
  int max_batch() const { return max_batch_; }
  /// Forgets everything and begins `batch` empty sequences.
  void begin(int batch);
  /// Every sequence gets `rows` more positions: the batch then has batch * rows rows, the rows of a
  /// sequence side by side. Valid until the next call.
  Ragged append(int rows);

 private:
  KvPool pool_;
  int max_batch_ = 0, max_positions_ = 0, pages_each_ = 0;
  std::vector<int32_t> row_begin_, kv_len_, table_;
  int batch_ = 0, length_ = 0;
};

/// Rings of pages for many streams. open() and the end of a ring may happen on any thread;
/// everything else is the caller's to order. Must outlive its rings.
class KvRings {
 public:
  /// Each stream sees `window` positions and brings at most `max_rows` per call. Memory is only
  /// touched for streams that were open at the same time.
  KvRings(const KvSpec& spec, int max_streams, int window, int max_rows);

  const KvPool& pool() const { return pool_; }
  int pages_each() const { return pages_each_; }
  int max_rows() const { return max_rows_; }

  /// One stream's place; gives it back when it ends. Movable.
  class Ring {
   public:
    Ring() = default;
    Ring(Ring&&) = default;
    Ring& operator=(Ring&&) = default;
    bool empty() const { return place_ == nullptr; }
    int32_t positions() const { return positions_; }

   private:
    friend class KvRings;
    struct GiveBack {
      GiveBack() : owner(nullptr), index(0) {}
      GiveBack(KvRings* o, int i) : owner(o), index(i) {}
      KvRings* owner;
      int index;
      void operator()(void*) const { owner->close(index); }
    };
    std::unique_ptr<void, GiveBack> place_;
    int32_t positions_ = 0;
  };

  /// An empty ring (test with empty()) when all places are taken.
  Ring open();

  /// Ragged batches over rings; keep one per executor so that its memory is reused.
  class Batch {
   public:
    void clear();
    /// Appends `rows` rows of the stream; advances its positions.
    void add(Ring& ring, int rows);
    /// Valid until the next change.
    Ragged ragged() const;

   private:
    std::vector<int32_t> row_begin_{0}, kv_len_, table_;
    int pages_each_ = 0;
  };

 private:
  void close(int index);
  KvPool pool_;
  int pages_each_ = 0, max_rows_ = 0;
  std::mutex mutex_;
  std::vector<int> free_;
};

}  // namespace syrinx
