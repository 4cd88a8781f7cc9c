// config.json of a finch voice as a plain struct, and constants that both networks share.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "io/json.h"

namespace syrinx::finch {

inline constexpr int kBooks = 3;  ///< residual codebooks, delayed by 0, 1 and 2 steps
/// Symbols in the LM's input: the current symbol and the next three.
inline constexpr int kHeard = 4;
inline constexpr int kMoves = 4;  ///< possible moves of the pointer in a step: by 0 to 3 symbols
/// Codes of a frame, then three symbols: the spoken one, the one before it, and the one after it.
inline constexpr int kFrameCodes = kBooks + 3;
/// The codes and symbols of a frame, then the accent's lift in cents.
inline constexpr int kFrameWidth = kFrameCodes + 1;
inline constexpr int kMaxLift = 1200;

/// One speaker of a voice.
struct Speaker {
  std::string name, description;
  float pace = 1;  ///< exponent of the speed for the LM: speed s becomes s to this power
};

/// Sizes, speakers and bounds. Plain data.
struct FinchConfig {
  std::string voice, description, licence;  ///< `voice`: name of the default speaker
  /// Speakers, in the order of the tables. Empty: a single speaker, without tables.
  std::vector<Speaker> speakers;
  float slowest = 1, fastest = 1;  ///< range of speeds in the training of the LM
  int sample_rate = 16000;         ///< Hz: 16000 or 24000
  int codes = 256;                 ///< entries of a codebook; id `codes` means that no code exists
  int max_positions = 0;           ///< limit of steps of a segment, including the row of the prompt

  // Sizes of the speech LM.
  int hidden = 0, layers = 0, heads = 0, head_dim = 0, ffn = 0, ages = 0;
  double rope_theta = 0;
  bool by_word = false;  ///< trained to speak before the end of a phrase has arrived
  std::array<float, kBooks> temperature{};

  // Sizes of the decoder.
  int latent = 0;                                                    ///< width of a codebook entry
  int low_width = 0, low_layers = 0, low_ffn = 0, low_taps = 0;      ///< layers at 25 Hz
  int high_width = 0, high_layers = 0, high_ffn = 0, high_taps = 0;  ///< layers at 100 Hz
  float pitch_mean = 0, pitch_std = 0;  ///< mean and standard deviation of ln Hz

  /// Reads and checks the config. Throws LoadError.
  static FinchConfig from(const Config& config);
};

}  // namespace syrinx::finch
