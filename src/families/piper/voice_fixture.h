// For tests: the .onnx.json of a small voice, and a SayClauses that returns the text's letters as
// phonemes.
#pragma once

#include <string>
#include <vector>

#include "base/ascii.h"
#include "families/piper/phonemes.h"

namespace syrinx::piper {

/// Returns JSON with 24 ids, as in the golden networks: ^ is 1, _ is 0, $ is 2, then a space,
/// marks, and the letters up to p.
inline std::string small_json(int speakers = 1) {
  std::string ids;
  int next = 3;
  for (const char c : std::string(" ,.?!abcdefghijklmnop")) {
    ids += ", \"" + std::string(1, c) + "\": [" + std::to_string(next++ % 24) + "]";
  }
  const std::string names = speakers > 1 ? ", \"speaker_id_map\": {\"anna\": 0, \"carl\": 2}" : "";
  return "{\"audio\": {\"sample_rate\": 16000, \"quality\": \"low\"}, \"espeak\": {\"voice\": "
         "\"en-us\"}, \"phoneme_type\": \"espeak\", \"inference\": {\"noise_scale\": 0.667, "
         "\"length_scale\": 1, \"noise_w\": 0.8}, \"num_speakers\": " +
         std::to_string(speakers) + names +
         ", \"phoneme_id_map\": {\"_\": [0], \"^\": [1], \"$\": [2]" + ids + "}}";
}

inline PiperConfig small_config() {
  return PiperConfig::from(Config::parse(small_json(), "small.onnx.json"));
}

inline Result<std::vector<std::string>> say_letters(const std::vector<std::string>& clauses,
                                                    const std::string& /*voice*/) {
  std::vector<std::string> out;
  for (const std::string& clause : clauses) {
    std::string said;
    for (const char c : lower_ascii(clause)) {
      if ((c >= 'a' && c <= 'z') || (c == ' ' && !said.empty())) said += c;
    }
    out.push_back(said);
  }
  return out;
}

}  // namespace syrinx::piper
