// VibeVoice-Realtime's two language models as one AR stage whose steps yield latents. The text
// model reads ids. The speech model reads the text model's rows and latents. A step yields a code,
// 1 for "the previous latent was the last", and the next latent from the diffusion head. The pages
// of the sequence contain both models' caches. Position n of the text model, which reads only ids,
// is stored at position n of the speech model, which has at least as many positions. Const after
// construction. Network:
// VibeVoice:vibevoice/modular/modeling_vibevoice_streaming_inference.py. E: sequences that yield a
// step. N: rows in the batch. H: width. D: width of a latent.
#pragma once

#include "families/network_stage.h"
#include "families/vibevoice/diffusion_head.h"

namespace syrinx::vibevoice {

class SpeechLm : public NetworkStage {
 public:
  /// A row has an id of text and its position in the text model, or a vector. The vector is a
  /// latent [D] or the row of a voice (VoiceRows).
  static constexpr int kTables = 2;

  /// Loads the models. `root` contains "model." and "tts_eos_classifier.". It must outlive this
  /// object, because the table of ids is not copied.
  SpeechLm(const ModelConfig& config, const Weights& root, WeightType type);

  /// Moves the weights.
  void move_to(Device device) {
    place_.move(device, table_, types_, text_, speech_, connect_, connected_, end_, end_head_,
                connector_norm_, head_);
  }
  /// Writes hidden [E, H], the normalized rows of the speech model.
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Writes the logits of a step's only code, 1 for the end. The code has no guidance, so the row
  /// of a companion gets the logits of its sequence.
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  /// Writes the latents. A step that only checks for the end yields zeros.
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t text_bytes() const { return text_.bytes(); }
  size_t speech_bytes() const { return speech_.bytes(); }
  size_t head_bytes() const { return head_.bytes(); }
  size_t table_bytes() const { return table_.bytes(); }
  /// Returns the bytes of the layers between and after the models.
  size_t joint_bytes() const { return weight_bytes(types_, connect_, connected_, end_, end_head_); }

 private:
  struct Rows;
  Rows sort_rows(StepContext& ctx, const ArBatch& batch) const;
  /// Writes the speech model's input to rows.x.
  void make_inputs(StepContext& ctx, const ArBatch& batch, const Rows& rows) const;

  ModelConfig config_;
  View table_;    // [vocab, H]; as stored
  Tensor types_;  // [2, H], added to latents and to text
  Decoder text_, speech_;
  PackedLinear connect_, connected_;  // D -> H -> H
  RmsNorm connector_norm_;
  PackedLinear end_, end_head_;  // H -> H -> 2
  DiffusionHead head_;
};

}  // namespace syrinx::vibevoice
