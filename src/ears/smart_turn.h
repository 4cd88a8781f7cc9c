// Smart Turn 3 (Pipecat, BSD-2-Clause): how likely it is that a speaker that pauses is done, by the
// sound of the last 8 s. Whisper tiny's encoder over half of its rows, rows weighted by attention,
// a small classifier. Weights are those that its authors publish, turned from ONNX into safetensors
// by tools/smart_turn.py; nothing of them is part of the program. Activations are not rounded to 8
// bits as in the published graph. Source:
// pipecat:src/pipecat/audio/turn/smart_turn/local_smart_turn_v3.py, and the graph.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "audio/mel.h"
#include "kernels/conv.h"
#include "nn/decoder.h"

namespace syrinx {

/// Const after loading; shared by threads.
class SmartTurn {
 public:
  static constexpr int kSeconds = 8;    ///< that it hears, from the end of what was said back
  static constexpr float kDone = 0.5f;  ///< a speaker is done from this probability on
  static constexpr int kPauseMs = 200;  ///< of silence that it is asked after, as in Pipecat

  /// `path` is a safetensors file or a directory that holds smart_turn.safetensors. Throws
  /// LoadError.
  static std::shared_ptr<const SmartTurn> load(const std::string& path);

  /// Samples at 16 kHz, the pause included. Takes 0.09 s of processor time.
  float probability(std::span<const float> samples) const;

 private:
  explicit SmartTurn(const Weights& weights);

  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_;
  Tensor positions_;
  Decoder blocks_;
  PackedLinear attention_, weight_;     // of rows
  PackedLinear first_, second_, last_;  // of the classifier
  LayerNorm norm_;
};

}  // namespace syrinx
