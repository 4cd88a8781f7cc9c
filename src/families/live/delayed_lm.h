// The language model of a delayed-streams recogniser as an AR stage: a step reads the row of a
// stretch of the recording and the last id of the text, and yields the next id. The sequence, a
// DelayedSequence, has the keys and values of the last rows, as many as the window, so no engine
// cache exists and a recording may be of any length. Const after construction. E: sequences that
// yield a step. H: width. V: ids.
#pragma once

#include <memory>
#include <vector>

#include "base/remembered.h"
#include "families/live/delayed_sequence.h"
#include "families/network_stage.h"

namespace syrinx {

class DelayedLm : public NetworkStage {
 public:
  /// `table` [ids, H] must outlive this object; `head`: H -> V. `silent`: number of the first rows
  /// of a first step that are silence. Their keys and values are computed once for each delay.
  /// `pauses`: H -> logits of classes, the first of which is a pause; may be empty.
  DelayedLm(StreamDecoder decoder, View table, PackedLinear head, int64_t silent = 0,
            PackedLinear pauses = {});

  /// Opens the keys and values of a recording.
  StreamKv open() const { return decoder_.open(); }
  const DecoderConfig& decoder() const { return decoder_.config(); }
  /// Moves the weights. Recordings opened afterwards have their keys and values there, too.
  void move_to(Device device) { place_.move(device, decoder_, table_, head_, pauses_); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  /// Computes the logits of `pauses` for each row (LiveSequence).
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const { return weight_bytes(decoder_, table_, head_, pauses_); }

 private:
  /// The keys and values of a first step's silent rows, and the rows.
  struct Silence {
    std::vector<float> rows;
    StreamKv kv;
  };
  int64_t begin_silent(StepContext& ctx, DelayedSequence& sequence) const;

  StreamDecoder decoder_;
  View table_;
  PackedLinear head_, pauses_;
  int64_t silent_ = 0;
  mutable Remembered<int, const Silence> silences_{size_t{1} << 30};  // by delay
};

/// Loads a StreamDecoder that keeps its keys and values in f32 with weights in f32, or else in f16.
/// `max_rows`: most rows of a stream in a call.
StreamDecoder load_stream_decoder(const DecoderConfig& config, const Weights& weights,
                                  WeightType type, int64_t max_rows);

}  // namespace syrinx
