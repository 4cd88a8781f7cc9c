// Settings of a recogniser that is a FastConformer with a transducer, as transformers stores it:
// config.json, and processor_config.json or preprocessor_config.json. Throws LoadError for what is
// missing, contradictory or not supported.
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
  bool streams = true;  ///< cache-aware: takes a recording while it arrives; false: only as a whole
  MelOptions mel;
  float preemphasis = 0.97f;  ///< preemphasis of the signal; 0: none
  ConvSubsamplingConfig subsampling;
  FastConformerConfig conformer;
  bool scale_input = true;

  int64_t vocab = 1025;  ///< number of ids, including the blank
  int32_t blank = 1024;
  int64_t hidden = 640;  ///< width of the predictor and of the joint network
  int64_t lstm_layers = 2;
  Activation joint = Activation::kRelu;
  int max_symbols = 10;         ///< largest number of ids at one frame
  std::vector<int> durations;   ///< numbers of frames that an id may take (TDT); empty: RNN-T
  std::vector<int> lookaheads;  ///< lookaheads of the training, in frames, largest first
  int default_lookahead = 13;   ///< lookahead for complete recordings; one of `lookaheads`

  /// returns the mel frames of an encoder's frame
  int factor() const { return 1 << subsampling.layers; }
  double frame_s() const { return double(mel.hop) * factor() / kSampleRate; }
  /// Returns the lookahead for audio that arrives while it is spoken: the largest with text within
  /// kLiveDelay_s, else the smallest.
  int live_lookahead() const;
  static constexpr double kLiveDelay_s = 0.6;
};

/// Whether a config is that of a cache-aware RNN-T (Nemotron) or of a TDT or RNN-T of the Parakeet
/// kind.
bool claims(const Config& root);
/// Reads config.json and the processor's file in `dir`, if there is one.
ModelConfig load_model_config(const Config& root, const std::string& dir);

}  // namespace syrinx::transducer
