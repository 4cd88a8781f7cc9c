// For tests: recordings, voices, and a store with a model that can clone.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "io/test_dir.h"
#include "model/toy/toy.h"
#include "voices/voices.h"

namespace syrinx {

inline RecordedAudio some_audio(double seconds = 1, double pitch = 0.05) {
  RecordedAudio audio;
  audio.sample_rate = 16000;
  for (int i = 0; i < static_cast<int>(16000 * seconds); ++i) {
    audio.samples.push_back(static_cast<float>(std::lrint(8000 * std::sin(pitch * i))) / 32768.f);
  }
  return audio;
}

inline std::string some_file(double seconds = 1) {
  return recording_wav(some_audio(seconds).samples, 16000);
}

inline Voice some_voice(float value = 1) {
  Voice voice{.family = "toy", .encoder = "given", .mode = "x-vector"};
  Tensor speaker(Shape{4}, DType::kF32);
  speaker.f32()[0] = value;
  voice.tensors.emplace("speaker", std::move(speaker));
  return voice;
}

inline size_t files_in(const std::string& directory) {
  std::error_code none;
  size_t count = 0;
  for (std::filesystem::directory_iterator at(directory, none), end; !none && at != end;
       at.increment(none)) {
    ++count;
  }
  return count;
}

class VoicesTest : public testing::Test {
 protected:
  TestDir dir_;
  VoiceStore store_{dir_.path("store")};
  std::shared_ptr<const Pipeline> toy_ = make_toy_pipeline({.clones = true});
  const VoiceEncoderInfo& encoder_ = toy_->voice_encoder()->info();
  Speaker speaker_{toy_->info(), &encoder_, &store_};
};

}  // namespace syrinx
