// A language model of several streams as an AR stage: a decoder whose input row is a sum of
// embeddings, or given as it is, and whose step makes a choice of every stream with a head of its
// own. What a row is made of is the sequence's to say. Const after construction, shared by threads.
// N rows of the batch, H width, T tables, S streams.
#pragma once

#include <memory>
#include <vector>

#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx {

/// The side of a request that a StreamLm is fed from.
class StreamSequence : public Sequence {
 public:
  /// What row `pos` is made of: an id of each table, [T]; -1 adds nothing.
  virtual void input(int pos, bool companion, std::span<int32_t> ids) const = 0;
  /// The row itself, [H], where it is none of ids (all of them -1); empty: there is none.
  virtual std::span<const float> row(int /*pos*/, bool /*companion*/) const { return {}; }
};

/// The head of one stream: what it may choose, part after part. Each part is a product of its own,
/// run over the rows that may choose from it now (Sequence::rule) and over no others: their logits
/// are -inf there. So words cost nothing in speech, and a stream that is forced nothing at all.
struct StreamHead {
  std::vector<PackedLinear> parts;

  int64_t choices() const;
  size_t bytes() const;
};

/// Rows [begin, end) of a matrix.
struct RowRange {
  int64_t begin = 0, end = 0;
};
/// What is always chosen from together.
using HeadPart = std::vector<RowRange>;

/// The head of one stream of several that share a matrix [V, H]: logits = W (h + e), of the rows
/// that the stream may choose. What `e` [H] adds is a bias, W e, so that all streams read the same
/// h and none of the rows of others.
StreamHead pack_stream_head(const View& shared, std::span<const HeadPart> parts,
                            std::span<const float> e, WeightType type);

class StreamLm : public ArStage {
 public:
  /// The tables are views as stored, which must outlive this; the same one may stand in several
  /// places.
  StreamLm(Decoder decoder, std::vector<View> tables, std::vector<StreamHead> heads, KvSpec kv,
           int64_t max_positions);

  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  const DecoderConfig& decoder() const { return decoder_.config(); }
  size_t bytes() const;
  /// Of the tables, each counted once.
  size_t table_bytes() const;

 private:
  ArTraits traits_;
  Decoder decoder_;
  std::vector<View> tables_;
  std::vector<StreamHead> heads_;
};

}  // namespace syrinx
