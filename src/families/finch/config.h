// config.json of a finch voice as a plain struct, and the constants that both networks share.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "io/json.h"

namespace syrinx::finch {

inline constexpr int kBooks = 3;  ///< residual codebooks, delayed by 0, 1 and 2 steps
/// symbols in the LM's input: the current symbol and the next three
inline constexpr int kHeard = 4;
inline constexpr int kMoves = 4;  ///< possible moves of the pointer in a step: 0 to 3 symbols
/// codes of a frame, then the spoken symbol, the one before and the one after
inline constexpr int kFrameCodes = kBooks + 3;
/// these numbers, then the accent's lift in cents
inline constexpr int kFrameWidth = kFrameCodes + 1;
inline constexpr int kMaxLift = 1200;

/// One speaker of a voice.
struct Speaker {
  std::string name, description;
  float pace = 1;  ///< exponent of the speed that the LM gets: s becomes s to this power
};

/// Sizes, speakers and bounds. Plain data.
struct FinchConfig {
  std::string voice, description, licence;  ///< `voice`: the name of the default speaker
  /// The speakers, in the order of the tables; empty for one speaker, without tables.
  std::vector<Speaker> speakers;
  float slowest = 1, fastest = 1;  ///< the range of speeds in the LM's training
  int sample_rate = 16000;         ///< Hz: 16000 or 24000
  int codes = 256;                 ///< entries of a codebook; id `codes`: no code yet
  int max_positions = 0;           ///< steps of one segment, including the prompt's row

  // The speech LM.
  int hidden = 0, layers = 0, heads = 0, head_dim = 0, ffn = 0, ages = 0;
  double rope_theta = 0;
  bool by_word = false;  ///< trained to speak before the end of a phrase is known
  std::array<float, kBooks> temperature{};

  // The decoder.
  int latent = 0;                                                    ///< width of a codebook entry
  int low_width = 0, low_layers = 0, low_ffn = 0, low_taps = 0;      ///< layers at 25 Hz
  int high_width = 0, high_layers = 0, high_ffn = 0, high_taps = 0;  ///< layers at 100 Hz
  float pitch_mean = 0, pitch_std = 0;  ///< mean and deviation of ln Hz

  /// Throws LoadError.
  static FinchConfig from(const Config& config);
};

}  // namespace syrinx::finch
