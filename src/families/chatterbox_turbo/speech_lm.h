// T3 of Chatterbox Turbo: a GPT-2 over the row of a speaker, the speech tokens of the voice, a text
// and speech tokens, in this order. Sizes are read from the shapes in t3_turbo_v1.safetensors, or
// fixed in the authors' code. Const after construction. H: width. Source:
// chatterbox:src/chatterbox/tts_turbo.py, models/t3/{t3.py,llama_configs.py}.
#pragma once

#include <memory>

#include "families/chatterbox/voice.h"
#include "families/spoken/codec_lm.h"

namespace syrinx::chatterbox_turbo {

using chatterbox::ModelConfig, chatterbox::Voice;

/// Reads the sizes of both files. GPT-2 has a single table of positions, so text_positions and
/// speech_positions are equal.
ModelConfig read_config(const Weights& t3, const Weights& s3gen);

/// The language model, and the layer that makes the row of a speaker.
struct SpeechNets {
  std::unique_ptr<CodecLm> lm;  ///< tables: text, speech
  PackedLinear speaker;         ///< turns a speaker vector into a row; on the CPU
};

/// Loads both from `weights` (t3_turbo_v1.safetensors), which must outlive the result.
SpeechNets load_speech(const ModelConfig& config, const Weights& weights, WeightType type);

/// Stores the speaker's row in voice.rows [1, H].
void prepare(const SpeechNets& nets, Voice& voice);

}  // namespace syrinx::chatterbox_turbo
