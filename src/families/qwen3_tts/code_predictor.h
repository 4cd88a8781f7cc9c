// The small decoder that makes the codes of a frame after its first, one after another, and begins
// anew in every step. Qwen3-TTS and Qwen3-Omni have the same. Const after construction.
// E sequences that yield a step, H talker width, P predictor width, C codes a frame, V codes of a
// table.
#pragma once

#include <vector>

#include "io/weights.h"
#include "nn/inner_decoder.h"

namespace syrinx::qwen3_tts {

/// Sizes. Plain data.
struct PredictorConfig {
  DecoderConfig decoder;
  int64_t wide = 0;        ///< H; when it is not P, inputs are projected
  int64_t codebooks = 0;   ///< C
  int64_t code_vocab = 0;  ///< V
};

/// Codes 1 .. C-1 of a step from the talker's hidden row and the codes before.
class CodePredictor {
 public:
  /// `weights` is the scope "talker.code_predictor"; it must outlive this (tables are not copied).
  CodePredictor(const PredictorConfig& config, const Weights& weights, WeightType type);

  /// Tables [V, H] of codes 1 .. C-1, which the talker's input adds up too.
  const std::vector<View>& tables() const { return tables_; }
  /// `moved` keeps the tables.
  void move_to(Device device, MovedTables& moved);
  size_t scratch_bytes(int emits) const { return decoder_.scratch_bytes(emits); }
  size_t bytes() const;

  /// Logits [E, V] of code k >= 1. first [H] table rows belong to code 0. `scratch` is kept between
  /// the calls of a step, k = 1, 2, ...
  void logits(StepContext& ctx, int k, const View& first_table, const View& hidden,
              const View& codes, const View& scratch, const View& out) const;

 private:
  View inputs(StepContext& ctx, int k, const View& first_table, const View& hidden,
              const View& codes) const;

  InnerDecoder decoder_;
  std::vector<View> tables_;
  PackedLinear projection_;  // H -> P; empty when they are equal
  std::vector<PackedLinear> heads_;
};

}  // namespace syrinx::qwen3_tts
