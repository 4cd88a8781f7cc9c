// A transformer over endless streams. It is causal: each row attends to the last `window` positions
// of its own stream, whose keys and values are in a ring of pages. Positions are regularly
// shifted back, so that a stream of any length has full precision. The bits do not depend on the
// division of a stream into calls, or on the other streams of a call. Const after construction,
// shared by threads; a stream's state is used by one call at a time. Legend: N rows of all streams
// together, H hidden.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/decoder.h"

namespace syrinx {

class StreamPageRange;
class StreamPages;

/// The state of one stream in a StreamDecoder.
class StreamKv {
 public:
  /// Returns the position of the next row. When the position is large, room() shifts it back by
  /// whole ring lengths.
  int64_t position() const { return position_; }
  StreamKv clone() const;

 private:
  friend class StreamDecoder;
  const KvPool& pool() const;
  int32_t first_page() const;

  KvPool own_;                                   // pages of a stream on the CPU
  std::shared_ptr<StreamPageRange> page_range_;  // pages of a stream on a GPU, in a shared pool
  int64_t position_ = 0;
};

/// The next `rows` rows of one stream.
struct StreamRows {
  StreamKv* kv = nullptr;
  int64_t rows = 0;
  View mlp_norms = {};  ///< as DecoderPart::mlp_norms
};

/// A stack of blocks with its weights. Each stream has a ring of pages.
class StreamDecoder {
 public:
  StreamDecoder() = default;
  /// Requires config.window >= 1 and config.causal. Names as for Decoder. A call may have at most
  /// `max_rows` rows of a stream. `cache`: type of keys and values, f32 or f16.
  StreamDecoder(const DecoderConfig& config, const Weights& weights, WeightType type, int max_rows,
                DType cache = DType::kF32);

  const DecoderConfig& config() const { return decoder_.config(); }
  size_t bytes() const { return decoder_.bytes(); }
  /// Returns the size in bytes of one stream's state.
  size_t state_bytes() const { return KvPool::page_bytes(kv_spec()) * ring_.size(); }

  /// Moves the weights to a GPU. Streams opened afterwards are on the GPU, too.
  void move_to(Device device);

  StreamKv open() const;
  /// Returns how many rows the stream may have in its next call: 1 to max_rows. Must be called
  /// before each call, because it shifts positions back if necessary.
  int64_t room(StepContext& ctx, StreamKv& kv) const;

  /// Runs the blocks in place over the residual stream x [N, H]: the rows of all streams, one
  /// stream after another. Does not apply the final norm. `memory`: as Decoder::forward().
  void forward(StepContext& ctx, const View& x, std::span<const StreamRows> streams,
               const DecoderMemory* memory = nullptr) const;
  /// Does what Decoder::remember() does.
  void remember(StepContext& ctx, const View& rows, const DecoderMemory& to) const {
    decoder_.remember(ctx, rows, to);
  }
  /// Computes out [N, H] = the final norm of x.
  void norm(StepContext& ctx, const View& x, const View& out) const { decoder_.norm(ctx, x, out); }

 private:
  KvSpec kv_spec() const { return config().kv_spec(cache_); }
  void turn_back(StepContext& ctx, StreamKv& kv) const;
  void turn_keys(const KvPool& pool) const;
  std::span<DecoderPart> parts_of(StepContext& ctx, std::span<const StreamRows> streams) const;

  Decoder decoder_;
  std::shared_ptr<StreamPages> pages_;  // pages of streams on a GPU
  // cosines and sines of the shift turn_, in host memory
  std::vector<float> turn_cos_, turn_sin_;
  std::vector<int32_t> ring_;     // page numbers of a stream's ring
  int64_t turn_ = 0, limit_ = 0;  // shift of positions; the first position that is shifted
  int64_t max_rows_ = 0;
  DType cache_ = DType::kF32;
};

}  // namespace syrinx
