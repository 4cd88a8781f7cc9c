// Smart Turn 3 (Pipecat, BSD-2-Clause): computes from the sound of the last 8 s how likely it is
// that a pausing speaker has finished. The network is Whisper tiny's encoder with half of its rows,
// attention weights over the rows, and a small classifier. tools/smart_turn.py converts the
// authors' published weights from ONNX to safetensors; they are not part of the program.
// Activations are not rounded to 8 bits as in the published graph. Source:
// pipecat:src/pipecat/audio/turn/smart_turn/local_smart_turn_v3.py, and the graph.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "audio/mel.h"
#include "kernels/conv.h"
#include "nn/decoder.h"

namespace syrinx {

/// The network with its weights. Const after loading; threads share it.
class SmartTurn {
 public:
  static constexpr int kSeconds = 8;    ///< the model reads the last 8 seconds of the audio
  static constexpr float kDone = 0.5f;  ///< from this probability on, a speaker has finished
  static constexpr int kPauseMs = 200;  ///< ms of silence before the model runs; as in Pipecat

  /// `path` is a safetensors file, or a directory with smart_turn.safetensors. Throws
  /// LoadError.
  static std::shared_ptr<const SmartTurn> load(const std::string& path);

  /// Returns the probability that the speaker has finished. `samples` are at 16 kHz and include the
  /// pause. Needs 0.09 s of processor time.
  float probability(std::span<const float> samples) const;

 private:
  explicit SmartTurn(const Weights& weights);

  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_;
  Tensor positions_;
  Decoder blocks_;
  PackedLinear attention_, weight_;     // layers that compute the attention over rows
  PackedLinear first_, second_, last_;  // layers of the classifier
  LayerNorm norm_;
};

}  // namespace syrinx
