// For tests of Step-Audio-2-mini: the small checkpoint of tests/parity/step_audio2, with and
// without the encoders that make voices from recordings, and its requests.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "families/golden_requests.h"
#include "families/step_audio2/pipeline.h"
#include "io/file.h"
#include "io/test_dir.h"
#include "kernels/sample.h"

namespace syrinx::step_audio2 {

inline std::string parity(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }
inline std::string golden(const std::string& name) { return parity("step_audio2/golden/" + name); }

inline LoadSpec spec_of(const std::string& dir) {
  return {.dir = dir, .model = "step", .weights = WeightType::kF32};
}

/// A copy of the checkpoint with CosyVoice2's small encoders, and a recording used as a voice.
struct WholeCheckpoint {
  WholeCheckpoint() {
    namespace fs = std::filesystem;
    const auto link = [&](const std::string& from, const std::string& to) {
      fs::create_symlink(parity(from), dir.path(to));
    };
    for (const char* folder : {"token2wav", "assets"}) fs::create_directory(dir.path(folder));
    for (const auto& each : fs::directory_iterator(golden("checkpoint"))) {
      const std::string name = each.path().filename();
      if (name != "token2wav") link("step_audio2/golden/checkpoint/" + name, name);
    }
    for (const char* name : {"flow.yaml", "flow.pt", "hift.pt"})
      link(std::string("step_audio2/golden/checkpoint/token2wav/") + name,
           std::string("token2wav/") + name);
    link("cosyvoice2/golden/checkpoint/campplus.onnx", "token2wav/campplus.onnx");
    link("cosyvoice2/golden/checkpoint/speech_tokenizer_v2.onnx",
         "token2wav/speech_tokenizer_v2_25hz.onnx");
    link("s3_reference/golden/recording.wav", "assets/default_female.wav");
  }
  TestDir dir;
};

inline nlohmann::ordered_json golden_cases() {
  return nlohmann::ordered_json::parse(read_file(golden("cases.json"), 1 << 20));
}

/// Returns the goldens' voice of `tokens` tokens as data (class Voice in make_golden.py).
inline std::shared_ptr<const Voice> golden_voice(int64_t tokens, int64_t codes = 40) {
  auto voice = std::make_shared<Voice>();
  voice->family = kFamily;
  voice->encoder = "given";
  voice->mode = "prompt";
  Tensor ids({tokens}, DType::kI32), mel({2 * tokens, 80}, DType::kF32);
  for (int64_t i = 0; i < tokens; ++i) ids.i32()[i] = static_cast<int32_t>((11 * i + 5) % codes);
  for (int64_t t = 0; t < 2 * tokens; ++t)
    philox_normal(4, static_cast<uint32_t>(t), 2, {mel.f32() + t * 80, 80});
  for (int64_t i = 0; i < mel.view().count(); ++i) mel.f32()[i] = mel.f32()[i] * 0.5f - 1;
  Tensor speaker({192}, DType::kF32);
  philox_normal(4, 0, 3, {speaker.f32(), 192});
  for (int64_t i = 0; i < 192; ++i) speaker.f32()[i] *= 3;
  voice->tensors.emplace("tokens", std::move(ids));
  voice->tensors.emplace("mel", std::move(mel));
  voice->tensors.emplace("speaker_vector", std::move(speaker));
  return voice;
}

inline SpeechRequest request_of(const nlohmann::ordered_json& c) {
  SpeechRequest request = golden_chat(c);
  request.writing.text_only = !c["speaks"].get<bool>();
  request.voice.data = golden_voice(20);
  return request;
}

}  // namespace syrinx::step_audio2
