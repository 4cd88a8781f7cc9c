// A transformer over endless streams: causal, each row sees the last `window` positions of its own
// stream, whose keys and values lie in a ring of pages (f32). Positions are turned back from time
// to time, so a stream may last for ever at full precision. Cutting a stream into calls anywhere,
// and other streams in a call, change no bit. Const after construction, shared by threads; a
// stream's state is used by one call at a time. Legend: N rows of all streams together, H hidden.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/decoder.h"

namespace syrinx {

class StreamPlace;
class StreamPlaces;

/// The state of one stream in a StreamDecoder.
class StreamKv {
 public:
  /// Position of the next row; falls back by whole turns of the ring when it becomes large.
  int64_t position() const { return position_; }
  StreamKv clone() const;

 private:
  friend class StreamDecoder;
  const KvPool& pool() const;
  int32_t first_page() const;

  KvPool own_;                          // on the CPU
  std::shared_ptr<StreamPlace> place_;  // on a GPU: pages of a pool that streams share
  int64_t position_ = 0;
};

/// The next `rows` rows of one stream.
struct StreamRows {
  StreamKv* kv = nullptr;
  int64_t rows = 0;
};

/// A stack of blocks with its weights; each stream's ring of pages is its own.
class StreamDecoder {
 public:
  StreamDecoder() = default;
  /// config.window >= 1 and config.causal; names as for Decoder. Streams bring at most `max_rows`
  /// rows to a call.
  StreamDecoder(DecoderConfig config, const Weights& weights, WeightType type, int max_rows);

  const DecoderConfig& config() const { return decoder_.config(); }
  size_t bytes() const { return decoder_.bytes(); }
  /// Memory of one stream.
  size_t state_bytes() const { return KvPool::page_bytes(kv_spec()) * ring_.size(); }

  /// Moves the weights to a GPU; streams opened from then on lie there too.
  void move_to(Device device);

  StreamKv open() const;
  /// How many rows the stream may bring to its next call: 1 .. max_rows. Call it before each call;
  /// this is where positions are turned back.
  int64_t room(StepContext& ctx, StreamKv& kv) const;

  /// Runs the blocks over the residual stream x [N, H], in place: the streams' rows, one below the
  /// other. The final norm is not applied.
  void forward(StepContext& ctx, const View& x, std::span<const StreamRows> streams) const;
  /// out [N, H] = final norm of x.
  void norm(StepContext& ctx, const View& x, const View& out) const { decoder_.norm(ctx, x, out); }

 private:
  KvSpec kv_spec() const { return config().kv_spec(DType::kF32); }
  void turn_back(StepContext& ctx, StreamKv& kv) const;
  void turn_keys(const KvPool& pool) const;
  std::span<DecoderPart> parts_of(StepContext& ctx, std::span<const StreamRows> streams) const;

  Decoder decoder_;
  std::shared_ptr<StreamPlaces> places_;    // on a GPU
  std::vector<float> turn_cos_, turn_sin_;  // of turn_, for the host
  std::vector<int32_t> ring_;               // pages of a stream
  int64_t turn_ = 0, limit_ = 0;  // positions: taken off at once; first that no row may have
  int64_t max_rows_ = 0;
};

}  // namespace syrinx
