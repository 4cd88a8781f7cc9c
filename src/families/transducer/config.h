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
  bool streams = true;  ///< cache-aware: hears a recording while it comes; false: as a whole
  MelOptions mel;
  float preemphasis = 0.97f;  ///< of the signal; 0: none
  ConvSubsamplingConfig subsampling;
  FastConformerConfig conformer;
  bool scale_input = true;

  int64_t vocab = 1025;  ///< ids, the blank included
  int32_t blank = 1024;
  int64_t hidden = 640;  ///< width of the predictor and of the joint network
  int64_t lstm_layers = 2;
  Activation joint = Activation::kRelu;
  int max_symbols = 10;         ///< most ids at one frame
  std::vector<int> durations;   ///< frames that an id may take (TDT); empty: RNN-T
  std::vector<int> lookaheads;  ///< later frames that were trained for, largest first
  int default_lookahead = 13;   ///< of recordings that are there; one of `lookaheads`

  int factor() const { return 1 << subsampling.layers; }  ///< mel frames of an encoder's frame
  double frame_s() const { return double(mel.hop) * factor() / kSampleRate; }
  /// The lookahead of audio that comes while it is spoken: the largest that lets text come within
  /// kLiveDelay_s, else the smallest.
  int live_lookahead() const;
  static constexpr double kLiveDelay_s = 0.6;
};

/// Whether it is the config of a cache-aware RNN-T (Nemotron) or of a TDT or RNN-T of the Parakeet
/// kind.
bool claims(const Config& root);
/// Reads config.json and, where it is there, the processor's file in `dir`.
ModelConfig load_model_config(const Config& root, const std::string& dir);

}  // namespace syrinx::transducer
