// T3, the language model of Chatterbox: a Llama decoder with learned positions over a voice, a text
// and speech tokens. Its companion has the same rows without the text. Also the network that makes
// the rows of a voice, on the CPU. Const after construction. H: width.
#pragma once

#include <memory>

#include "families/chatterbox/config.h"
#include "families/chatterbox/voice.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::chatterbox {

/// Makes a prompt's first rows: the speaker, a perceiver's view of the voice's speech, the emotion.
class VoiceRows {
 public:
  /// `weights`: t3_cfg.safetensors. `speech`, `positions` [*, H]: tables, which must outlive this
  /// object.
  VoiceRows(const ModelConfig& config, const Weights& weights, const View& speech,
            const View& positions);

  /// Computes voice.rows.
  void prepare(Voice& voice) const;
  /// Returns a prepared voice with another degree of emotion, and therefore another key.
  Voice with_emotion(const Voice& voice, float degree) const;

 private:
  void put_emotion(Voice& voice) const;
  View perceive(StepContext& ctx, const View& queries, const View& seen) const;

  ModelConfig config_;
  View speech_, positions_;
  PackedLinear speaker_, q_, k_, v_, mixed_;
  Tensor emotion_, queries_;
  LayerNorm norm_;
};

/// The language model, and the network that makes the rows of a voice.
struct SpeechNets {
  std::unique_ptr<CodecLm> lm;  ///< tables: text, text positions, speech, speech positions
  std::unique_ptr<VoiceRows> voice_rows;
};

/// Loads both networks. `weights`: t3_cfg.safetensors, which must outlive the result, because
/// tables are not copied. Throws LoadError.
SpeechNets load_speech(const ModelConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx::chatterbox
