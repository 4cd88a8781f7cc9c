// The .onnx.json of a Piper voice as plain structs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/json.h"

namespace syrinx::piper {

struct PiperConfig {
  int sample_rate = 22050;  ///< Hz
  std::string quality, dataset;
  bool espeak = true;        ///< false: the ids are of the text's characters (phoneme_type "text")
  std::string espeak_voice;  ///< as espeak-ng calls it
  std::string language;      ///< code: "en"
  float noise_scale = 0.667f, length_scale = 1, noise_w = 0.8f;
  /// Ids of a phoneme, one character or a cluster, in NFD.
  std::map<std::string, std::vector<int32_t>, std::less<>> ids;
  std::vector<int32_t> begin, pad, end;  ///< ids of ^, _ and $
  /// In the order of their numbers; empty names where the file has none.
  std::vector<std::string> speakers;
  int default_speaker = 0;

  /// Throws LoadError: what is missing, has a wrong type or lies out of bounds; a phoneme_type that
  /// needs a program of its own.
  static PiperConfig from(const Config& config);
  /// The greatest id and one; 0 where there is none.
  int64_t symbols() const;
};

}  // namespace syrinx::piper
