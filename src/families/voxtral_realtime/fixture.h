// For tests: the golden checkpoints, and their recordings.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/wav_file.h"
#include "families/voxtral_realtime/pipeline.h"
#include "families/voxtral_realtime/transcription.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx::voxtral_realtime {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/voxtral_realtime/golden/" + name;
}

inline nlohmann::json golden_of(const std::string& checkpoint) {
  return nlohmann::json::parse(read_file(golden_path(checkpoint + "/cases.json"), 1 << 20));
}

/// Returns the samples of a golden case, which repeats a recording.
inline std::vector<float> samples_of(const nlohmann::json& c) {
  const std::vector<float> all = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples;
  std::vector<float> out;
  for (size_t i = 0; i < c["count"].get<size_t>(); ++i)
    out.push_back(all[(c["skip"].get<size_t>() + i) % all.size()]);
  return out;
}

/// Returns the samples with the silence around them, in whole hops.
inline std::vector<float> with_silence(const ModelConfig& config, const std::vector<float>& samples,
                                       int delay) {
  const auto hop = static_cast<size_t>(config.mel.hop);
  std::vector<float> out(static_cast<size_t>(config.left_pad * config.samples()));
  out.insert(out.end(), samples.begin(), samples.end());
  out.resize((out.size() + hop - 1) / hop * hop +
             static_cast<size_t>(config.right_pad(delay) * config.samples()));
  return out;
}

}  // namespace syrinx::voxtral_realtime
