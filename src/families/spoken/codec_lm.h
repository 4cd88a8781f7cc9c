// The language model of a family as an AR stage. An input row is a sum of embeddings or a given
// vector, with or without text added to it. A step makes one code with each head, and then further
// codes if the model has an inner decoder. The sequence describes its rows as data
// (Sequence::rows). A step has two halves. First fill_rows() gets the rows from the sequences on
// the host. Then the network's work is queued, which reads only the filled arrays. Const after
// construction, shared by threads. N: rows of the batch. H: width. T: tables. K: codes of a step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/network_stage.h"
#include "families/spoken/inner_codes.h"
#include "families/spoken/text_beside.h"
#include "model/input_rows.h"
#include "model/pipeline.h"
#include "nn/decoder.h"

namespace syrinx {

/// The head of one stream, in parts. Each part is a separate matrix product that runs only for the
/// rows that may choose from it at this step (Sequence::rule). In other rows its logits are -inf.
/// So the part for words costs nothing during speech, and a stream with a forced code costs
/// nothing.
struct StreamHead {
  std::vector<PackedLinear> parts;

  int64_t choices() const;
  size_t bytes() const { return weight_bytes(parts); }
  /// Moves the weights. On a GPU a head must have one part, because the host chooses the parts that
  /// run.
  void move_to(Device device);
};

/// Rows [begin, end) of a matrix.
struct RowRange {
  int64_t begin = 0, end = 0;
};
/// The row ranges of one part of a head.
using HeadPart = std::vector<RowRange>;

/// Packs the head of one of several streams that share a matrix [V, H]: logits = W (h + e), for the
/// rows that the stream may choose. `e` [H] becomes a bias, W e. So all streams read the same h,
/// and no stream computes the rows of another. For a GPU the head has one part.
StreamHead pack_stream_head(const View& shared, std::span<const HeadPart> parts,
                            std::span<const float> e, WeightType type, Device device);

/// Parts of a CodecLm. Tables are views of the stored weights, which must outlive the CodecLm.
/// `tables` may contain the same view several times.
struct CodecLmParts {
  Decoder decoder;
  std::vector<View> tables;       ///< T embedding tables, each [V, H]
  std::vector<StreamHead> heads;  ///< heads that read the hidden row of the decoder
  KvSpec kv;
  int64_t max_positions = 0;
  std::unique_ptr<InnerCodes> inner = {};  ///< makes the codes after the first one; may be null
  /// Vocabulary of each code that the inner decoder makes. Empty: the sizes of its heads.
  std::vector<int> inner_vocab = {};
  /// Factor of rows that have an id for tables[1] (rows of codes); rows of text have none.
  float frame_scale = 1;
  /// Learned positions [max_positions, H] as stored, added to each row (GPT-2). May be empty.
  View positions = {};
  /// Adds text to the codes. A row's text id follows its T table ids. Null: the model adds no text.
  std::unique_ptr<TextBeside> beside = {};
  bool adds_vectors = false;  ///< each row has a vector, which is added to the sum of its ids
  /// makes the values of a step (ArTraits::values) from the hidden row; empty: no values
  PackedLinear values = {};
  std::vector<Tensor> own_tables = {};  ///< owner of tables that are not views of stored weights
  float table_scale = 1;                ///< factor of the sum of table rows, not of given vectors
  float logit_cap = 0;  ///< logits become cap * tanh(logit / cap) (Gemma 2); 0: no cap
  int tap_block = -1;   ///< rows before this block are tapped (ArTraits::tap); -1: no taps
  bool drafts = false;  ///< value of ArTraits::drafts; needs a single head with one part
};

/// Begins the parts of a CodecLm: loads the decoder, and chooses the cache's data type by `type`.
CodecLmParts lm_parts(const DecoderConfig& config, const Weights& weights, WeightType type,
                      int64_t max_positions);

/// Returns the `count` tables that are stored one below another as `all`.
std::vector<View> tables_in(const View& all, int64_t count);

/// Makes a head of one part, for codes that are chosen from all of its outputs.
StreamHead whole_head(PackedLinear linear);
/// Packs a head of one part from a table [V, H], with at least 8 bits per weight.
StreamHead tied_head(const View& table, WeightType type);
/// Loads a head of one part, H -> codes, with at least 8 bits per weight.
StreamHead load_head(const Weights& weights, const std::string& name, int64_t codes, int64_t hidden,
                     WeightType type, bool bias = false);

/// The stage with its weights.
class CodecLm : public NetworkStage {
 public:
  explicit CodecLm(CodecLmParts parts);

  void move_to(Device device);
  size_t scratch_bytes(int emits) const override;
  bool fill(StepContext& ctx, const ArBatch& batch, std::span<int32_t> out,
            std::vector<uint64_t>& key) const override;
  int64_t fill_size(int rows) const override;
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// Returns the input rows of a batch, [N, H], in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  const DecoderConfig& decoder() const { return parts_.decoder.config(); }
  size_t bytes() const;        ///< bytes of the decoder, its heads and the layers that project text
  size_t inner_bytes() const;  ///< bytes of the inner decoder
  size_t table_bytes() const;  ///< bytes of the tables; a shared table counts once
  int tables() const { return static_cast<int>(parts_.tables.size()); }
  const View& table(int number) const { return parts_.tables[static_cast<size_t>(number)]; }

 private:
  /// The ids and positions from which the input rows of a batch are made.
  struct Numbers {
    std::span<int32_t> ids;  // [N, T]
    TextRows text;           // for CodecLmParts::beside
    std::span<int32_t> at;   // [N] positions, if the model has learned ones
  };
  Numbers numbers_in(std::span<int32_t> memory, int rows) const;
  std::span<GivenRow> ask(StepContext& ctx, const ArBatch& batch, Numbers& to) const;
  bool is_frame(std::span<const int32_t> ids, size_t row) const;
  bool are_valid(const Numbers& numbers) const;
  void add_vectors(StepContext& ctx, std::span<const GivenRow> given, const View& x) const;
  void scale_frames(StepContext& ctx, std::span<const int32_t> ids, const View& x) const;
  void head_logits(StepContext& ctx, int k, const ArBatch& batch, const View& hidden,
                   const View& out) const;

  const uint64_t number_;     // unique among the CodecLms of the process
  std::vector<int> windows_;  // the different windows of the decoder's layers
  CodecLmParts parts_;
};

/// Describes the parts of a model for users: its decoder, preceded by the word `kind` if given, its
/// inner decoder and its tables.
std::vector<PartInfo> describe_lm(const CodecLm& lm, const std::string& kind = "");

}  // namespace syrinx
