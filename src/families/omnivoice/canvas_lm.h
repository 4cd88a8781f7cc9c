// The language model of OmniVoice, and the AR node that runs it. A canvas has the ids of style and
// text, the frames of a recording, and the frames to be made, whose codes are masks at first. A
// pass reads the whole canvas and, for guidance, its frames without the rest. It replaces the masks
// with the largest scores by codes. A pass over many rows takes several steps, each of some layers:
// so short canvases in the same batch wait little. Const after construction, shared by threads;
// the results of a canvas have the same bits in any batch. On a GPU the host chooses the codes.
// Source: omnivoice 0.2.1, omnivoice/models/omnivoice.py
// (_generate_iterative, _predict_tokens_with_scoring). C codebooks, V choices, T frames, R frames
// of the recording.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/network_stage.h"
#include "families/omnivoice/config.h"
#include "io/weights.h"
#include "nn/decoder.h"

namespace syrinx::omnivoice {

/// Passes over a canvas, as in the authors' program.
inline constexpr int kPasses = 32;

/// One pass over one canvas, or one step of the pass.
struct CanvasPass {
  std::span<const int32_t> ids;       ///< style and text
  std::span<const int32_t> recorded;  ///< [R, C]
  std::span<int32_t> frames;          ///< [T, C], changed by the pass; may contain masks
  int pass = 0;                       ///< number of the pass, from 0
  uint32_t step = 0;                  ///< passes of the request before this one, for the noise
  int part = 0, parts = 1;            ///< number of the step in the pass, and steps of the pass
  /// f32 [rows_of_pass(), H], in host memory, kept between the steps of a pass; one step: empty
  std::span<float> kept = {};
  uint64_t seed = 0;
  float guidance = 2;     ///< scale g: (1 + g) times the logits, less g times those without text
  float temperature = 0;  ///< of the draw among the likeliest tenth; 0: the likeliest choice
};

/// Returns the number of rows of a pass: those of the canvas, and with guidance those of its
/// frames.
int64_t rows_of_pass(const ModelConfig& config, const CanvasPass& canvas);
/// Returns the number of steps of a pass over `rows` rows. A step takes at most the time of all
/// layers for 512 rows, or the time of one layer, if that is longer.
int steps_of_pass(const ModelConfig& config, int64_t rows);
/// Returns how many of `codes` masks pass number `pass` replaces.
int64_t unmasked_in(int pass, int64_t codes);

/// The language model, which reads a whole canvas in each pass.
class CanvasLm {
 public:
  /// Loads llm.*, audio_embeddings and audio_heads as published. Tables are views of the stored
  /// weights, which must outlive this object.
  CanvasLm(const ModelConfig& config, const Weights& weights, WeightType type);

  const ModelConfig& config() const { return config_; }
  Device device() const { return place_.device(); }
  /// Moves the weights.
  void move_to(Device device) { place_.move(device, decoder_, ids_, tables_, heads_); }
  /// Runs one step of the pass over each canvas. Writes to sums [canvases] the sum of a canvas's
  /// scores, 0 before the last step of the pass. If a logit is not finite, the sum is not, and the
  /// frames stay unchanged.
  void run(StepContext& ctx, std::span<const CanvasPass> canvases, std::span<float> sums) const;
  /// Writes the logits f32 [T, C * V] of the frames of a canvas: with its text, or without.
  void logits(StepContext& ctx, const CanvasPass& canvas, bool with_text, const View& out) const;
  size_t bytes() const { return weight_bytes(decoder_, heads_); }
  size_t table_bytes() const { return weight_bytes(ids_, tables_); }

 private:
  /// Rows of a canvas that follow each other in a batch.
  struct Rows {
    const CanvasPass* canvas = nullptr;
    bool with_text = true;
    int64_t begin = 0, count = 0;
    /// Returns the number of rows before the frames.
    int64_t before(int64_t codebooks) const;
  };
  void embed_rows(StepContext& ctx, const Rows& rows, const View& x) const;
  void run_together(StepContext& ctx, std::span<const CanvasPass> canvases,
                    std::span<float> sums) const;
  float unmask(StepContext& ctx, const View& x, const Rows& with_text, const Rows* alone) const;

  ModelConfig config_;
  Decoder decoder_;
  View ids_;                  // [vocab, H]
  std::vector<View> tables_;  // C of [V, H]
  PackedLinear heads_;        // H -> C * V
  WeightPlace place_;
};

/// The AR node. A step is a pass, so the only code of a step means nothing; its logit shows whether
/// all scores were finite. The node has no cache.
class CanvasStage : public NetworkStage {
 public:
  explicit CanvasStage(const CanvasLm& lm);

  Device device() const override { return lm_.device(); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

 private:
  const CanvasLm& lm_;
};

}  // namespace syrinx::omnivoice
