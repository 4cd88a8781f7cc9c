// The codes of a frame, made one after another by a small decoder whose weights depend on the code:
// each call reads the hidden row of the large decoder through a layer of its weight set, plus the
// previous code; the first call reads the text's ids instead, which depend on the code of the text.
// Source: moshi:moshi/models/lm.py, forward_depformer(). Const after construction. E: sequences
// that yield a step. A: those that make a frame. H, D: widths of the large and the small decoder.
// Q: codebooks.
#pragma once

#include <span>
#include <vector>

#include "families/kyutai_tts/words.h"
#include "nn/inner_decoder.h"
#include "nn/layers.h"

namespace syrinx::kyutai_tts {

/// A table of ids whose rows go through two layers: one for the main stream of text, one for the
/// second stream (moshi:moshi/models/lm_utils.py, ScaledEmbedding).
class TextTable {
 public:
  TextTable() = default;
  /// Loads weight [ids, width], out1 and out2 [out, width] of a scope, which must outlive this
  /// object.
  TextTable(const Weights& weights, int64_t ids, int64_t width, int64_t out, WeightType type);

  /// Moves the weights. `place` then owns the copy of the table.
  void move_to(Device device, WeightPlace& place);
  /// Adds the rows of `ids` [A] to out [A, out].
  void add(StepContext& ctx, std::span<const TextIds> ids, const View& out) const;
  size_t bytes() const { return weight_bytes(table_, main_, second_); }

 private:
  View table_;
  PackedLinear main_, second_;
};

/// The sequences that make a frame in a step.
struct FrameRows {
  std::span<const int32_t> rows;         ///< [A], their rows of a step, ascending
  std::span<const TextIds> word, frame;  ///< [A], ids that follow if the step draws a word; if not
};

/// Makes the codes of a frame, one after another.
class DepthCodes {
 public:
  /// `weights`: the root scope of the language model's file, which must outlive this object.
  DepthCodes(const ModelConfig& config, const Weights& weights, WeightType type);

  size_t scratch_bytes(int rows) const;
  size_t bytes() const { return weight_bytes(decoder_, text_, inputs_, widen_, heads_, tables_); }
  /// Moves the weights. `place` then owns the copies of the tables.
  void move_to(Device device, WeightPlace& place);
  /// Writes the logits [A, card] of code q = 0, 1, ... of a frame. hidden [E, H]. codes i32 [E, 1 +
  /// Q]: the code of the text, then the codes before q. `scratch`, of scratch_bytes(A), is kept
  /// between the calls of a frame.
  void logits(StepContext& ctx, int q, const View& hidden, const View& codes, const FrameRows& made,
              const View& scratch, const View& out) const;

 private:
  /// Returns the bytes of scratch with the hidden rows of a weight set.
  size_t projected_bytes(int64_t rows) const;
  void add_text(StepContext& ctx, const View& codes, const FrameRows& made, const View& x) const;

  std::vector<int> schedule_;
  InnerDecoder decoder_;
  std::vector<PackedLinear> inputs_;  // H -> D for each weight set
  TextTable text_;
  Tensor words_, others_;            // [text_out, 1], 1 for the id of a new word, for other ids
  std::vector<View> tables_;         // Q - 1 tables [card + 1, rank]
  std::vector<PackedLinear> widen_;  // rank -> D for each table
  std::vector<PackedLinear> heads_;  // Q heads D -> card
};

}  // namespace syrinx::kyutai_tts
