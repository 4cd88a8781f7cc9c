// For tests: the small checkpoints, and the windows of their goldens.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "codec/qwen3_audio_fixture.h"
#include "families/whisper/pipeline.h"
#include "io/file.h"

namespace syrinx::whisper {

/// Returns the folder of a small checkpoint: "small" or "large".
inline std::string checkpoint(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/whisper/" + name;
}

/// Returns the cases of a checkpoint.
inline nlohmann::json golden_cases(const std::string& name) {
  return nlohmann::json::parse(read_file(checkpoint(name) + "/golden/cases.json", 1 << 20));
}

/// Returns the samples of a recording of the cases.
inline std::vector<float> golden_recording(const nlohmann::json& cases, int index) {
  const nlohmann::json& r = cases["recordings"][index];
  const auto count = static_cast<int64_t>(r["seconds"].get<double>() * 16000);
  return fixture::golden_signal(count, r["seed"], r["swell"]);
}

/// Returns the window of a golden case.
inline std::shared_ptr<Window> golden_window(const Whisper& model, std::span<const float> recording,
                                             const nlohmann::json& c) {
  WhisperRecording heard(static_cast<int>(model.config().encoder.mels));
  heard.push(recording, true);
  auto window = std::make_shared<Window>();
  window->audio = heard.window(c["first"]);
  const nlohmann::json& o = c["options"];
  window->language = o.value("language", "");
  window->translate = o.value("task", "") == "translate";
  window->timestamps = !o.value("without_timestamps", false);
  window->temperature = o.value("temperature", 0.f);
  window->before = o.value("prompt", std::vector<int32_t>());
  return window;
}

}  // namespace syrinx::whisper
