// Settings of a recogniser that is a FastConformer with a transducer, as transformers stores it:
// config.json, and processor_config.json or preprocessor_config.json. Throws LoadError for values
// that are missing, contradictory or not supported.
#pragma once

#include <string>
#include <vector>

#include "audio/mel.h"
#include "codec/conv_subsampling.h"
#include "codec/fast_conformer.h"
#include "io/json.h"
#include "kernels/activation.h"

namespace syrinx::transducer {

inline constexpr int kSampleRate = 16000;

struct ModelConfig {
  bool streams = true;  ///< cache-aware: reads a recording as it arrives; false: only as a whole
  MelOptions mel;
  float preemphasis = 0.97f;  ///< preemphasis of the signal; 0: no preemphasis
  ConvSubsamplingConfig subsampling;
  FastConformerConfig conformer;
  bool scale_input = true;

  int64_t vocab = 1025;  ///< number of ids, with the blank
  int32_t blank = 1024;
  int64_t hidden = 640;  ///< width of the predictor, and of the joint network
  int64_t lstm_layers = 2;
  Activation joint = Activation::kRelu;
  int max_symbols = 10;         ///< most ids at one frame
  std::vector<int> durations;   ///< possible durations of an id, in frames (TDT); empty: RNN-T
  std::vector<int> lookaheads;  ///< lookaheads used in training, in frames, largest first
  int default_lookahead = 13;   ///< lookahead for complete recordings; one of `lookaheads`

  /// Returns the number of mel frames in a frame of the encoder.
  int factor() const { return 1 << subsampling.layers; }
  double frame_s() const { return double(mel.hop) * factor() / kSampleRate; }
  /// Returns the lookahead for audio that arrives while it is spoken: the largest one whose text
  /// comes within kLiveDelay_s, or else the smallest one.
  int live_lookahead() const;
  static constexpr double kLiveDelay_s = 0.6;
};

/// Returns whether a config belongs to a cache-aware RNN-T (Nemotron), or to a TDT or RNN-T like
/// Parakeet.
bool claims(const Config& root);
/// Reads config.json, and the processor's file in `dir` if it exists.
ModelConfig load_model_config(const Config& root, const std::string& dir);

}  // namespace syrinx::transducer
