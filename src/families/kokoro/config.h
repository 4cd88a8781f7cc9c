// The config.json of a Kokoro checkpoint as plain data, checked when read. Throws LoadError for
// fields that are missing, contradictory or unsupported.
// Source: kokoro 0.9.4, kokoro/model.py (KModel) and the published config.json.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/json.h"

namespace syrinx::kokoro {

/// Sizes of PL-BERT, an ALBERT with one layer that runs `layers` times.
struct AlbertSizes {
  int64_t embedding = 128, hidden = 768, ffn = 2048;
  int heads = 12;
  int layers = 12;
  /// Most ids of an utterance, including the id 0 at each end.
  int64_t positions = 512;
};

/// Sizes of iSTFTNet, which turns frames at 80 Hz into samples at 24 kHz.
struct GeneratorSizes {
  int64_t channels = 512;  ///< channels of the input; each upsampling halves their number
  std::vector<int64_t> rates{10, 6}, rate_kernels{20, 12};
  std::vector<int64_t> kernels{3, 7, 11};
  std::vector<std::vector<int64_t>> dilations{{1, 3, 5}, {1, 3, 5}, {1, 3, 5}};
  int n_fft = 20, stft_hop = 5;

  /// Returns the number of samples per input frame.
  int64_t hop() const;
};

/// Sizes and the vocabulary of a checkpoint. Plain data.
struct KokoroConfig {
  static constexpr int kSampleRate = 24000;  ///< Hz; the authors' code supports only this rate
  AlbertSizes bert;
  GeneratorSizes generator;
  int64_t tokens = 178;  ///< rows of each embedding table of phonemes
  int64_t hidden = 512;
  int64_t style = 128;  ///< width of each half of a voice's row
  int64_t layers = 3;   ///< layers of the text encoder, and of the encoder of durations
  int64_t text_taps = 5;
  int64_t longest = 50;  ///< most frames of a phoneme at speed 1
  /// Maps each character of the phoneme alphabet (UTF-8) to its id.
  std::unordered_map<std::string, int32_t> vocabulary;

  /// Returns the samples per frame of speech: 600. A phoneme lasts a whole number of frames.
  int64_t hop() const { return 2 * generator.hop(); }
  /// Returns whether the checkpoint reads Chinese in the alphabet of Kokoro-82M-v1.1-zh.
  bool has_bopomofo() const { return vocabulary.contains("ㄅ"); }
  /// Returns the largest number of phonemes of an utterance: 510.
  int most_phonemes() const { return static_cast<int>(bert.positions) - 2; }
};

/// Returns whether this config.json belongs to the family.
bool claims(const Config& root);
KokoroConfig load_config(const Config& root);

}  // namespace syrinx::kokoro
