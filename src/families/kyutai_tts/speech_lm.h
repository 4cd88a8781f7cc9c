// The language model of Kyutai TTS as an AR stage: a step reads the codes of the step before and
// ids of the text, attends to the rows of the voice, draws whether a word follows, and then makes
// the codes of a frame. The engine's cache has the keys and values of the voice's rows. Each
// sequence has those of its own last `context` steps, so a text may be of any length. Source:
// moshi:moshi/models/lm.py, moshi:moshi/conditioners. Const after construction. E: sequences that
// yield a step. H: width. Q: codebooks.
#pragma once

#include <vector>

#include "families/kyutai_tts/depth.h"
#include "families/kyutai_tts/state.h"
#include "families/network_stage.h"
#include "nn/stream_decoder.h"

namespace syrinx::kyutai_tts {

class SpeechLm : public NetworkStage {
 public:
  /// `weights`: the root scope of the language model's file. It must outlive this object.
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Opens the keys and values of a request's steps.
  StreamKv open() const { return decoder_.open(); }
  /// Moves the weights. Requests opened afterwards have their keys and values there, too.
  void move_to(Device device);
  size_t scratch_bytes(int emits) const override { return depth_.scratch_bytes(emits); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const { return weight_bytes(decoder_, head_, speaker_); }
  size_t depth_bytes() const { return depth_.bytes(); }
  size_t table_bytes() const { return weight_bytes(text_, conditions_, tables_); }

 private:
  void remember(StepContext& ctx, const ArBatch& batch) const;
  View inputs(StepContext& ctx, std::span<State* const> states) const;
  void depth_logits(StepContext& ctx, int q, std::span<State* const> states, const View& hidden,
                    const View& codes, const View& scratch, const View& out) const;
  void skip_logits(StepContext& ctx, const View& out) const;

  ModelConfig config_;
  StreamDecoder decoder_;
  std::vector<View> tables_;  // Q tables [card + 1, H]
  TextTable text_;
  PackedLinear head_;           // H -> text_out
  PackedLinear speaker_;        // rows of a voice -> H
  Tensor absent_;               // [H], added where the memory has no voice
  Tensor conditions_;           // [number of guidance values, H]; one is added to each row
  std::vector<float> periods_;  // [H / 2] of the memory's positions
  DepthCodes depth_;
  Tensor not_computed_;  // [text_out or card], the logits of a row whose code is forced
};

}  // namespace syrinx::kyutai_tts
