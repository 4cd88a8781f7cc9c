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
  bool espeak = true;        ///< false: ids represent characters of the text (phoneme_type "text")
  std::string espeak_voice;  ///< name of the language in espeak-ng
  std::string language;      ///< language code, e.g. "en"
  float noise_scale = 0.667f, length_scale = 1, noise_w = 0.8f;
  /// Maps a phoneme (a character or a cluster, in NFD) to its ids.
  std::map<std::string, std::vector<int32_t>, std::less<>> ids;
  std::vector<int32_t> begin, pad, end;  ///< ids of ^, _ and $
  /// Names by speaker number. Empty for a speaker without a name in the file.
  std::vector<std::string> speakers;
  int default_speaker = 0;

  /// Reads and checks the config. Throws LoadError for a field that is missing, has a wrong type or
  /// is out of bounds, and for a phoneme_type that needs another program.
  static PiperConfig from(const Config& config);
  /// Returns the greatest id plus one. Returns 0 if the voice has no ids.
  int64_t symbols() const;
};

}  // namespace syrinx::piper
