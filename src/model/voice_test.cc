#include "model/voice.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

Voice sample() {
  Voice voice{.family = "toy", .encoder = "1", .mode = "x-vector", .text = "hello", .seconds = 3};
  voice.tensors.emplace("speaker", Tensor({4}, DType::kF32));
  return voice;
}

TEST(Voice, HashDistinguishesEverything) {
  const Voice voice = sample();
  EXPECT_EQ(voice_hash(voice), voice_hash(sample()));
  std::vector<Voice> others;
  for (int i = 0; i < 6; ++i) others.push_back(sample());
  others[0].family = "toys";
  others[1].mode = "x-vectorh", others[1].text = "ello";
  others[2].tensors["speaker"].f32()[3] = 1e-9f;
  others[3].tensors["speaker"] = Tensor({2, 2}, DType::kF32);
  others[4].tensors["speaker"] = Tensor({4}, DType::kI32);
  others[5].tensors.emplace("speakers", Tensor({1}, DType::kF32));
  for (const Voice& other : others) EXPECT_NE(voice_hash(voice), voice_hash(other));
}

TEST(Voice, RecordingsAreChecked) {
  const VoiceEncoderInfo info{.family = "toy",
                              .version = "1",
                              .modes = {{"in-context", true}, {"x-vector", false}},
                              .min_s = 1,
                              .max_s = 10};
  const auto recording = [](double seconds, const char* mode, const char* text) {
    return Recording{.samples = std::vector<float>(static_cast<size_t>(seconds * 16000)),
                     .sample_rate = 16000,
                     .text = text,
                     .mode = mode};
  };
  EXPECT_EQ(check_recording(info, recording(3, "", "words")).value(), "in-context");
  EXPECT_EQ(check_recording(info, recording(3, "", "")).value(), "x-vector");
  EXPECT_EQ(check_recording(info, recording(3, "x-vector", "words")).value(), "x-vector");
  EXPECT_EQ(check_recording(info, recording(0.5, "", "")).error().message,
            "the recording lasts 0.5 s; this model needs 1 s to 10 s");
  EXPECT_EQ(check_recording(info, recording(11, "", "")).error().param, "ref_audio");
  EXPECT_EQ(check_recording(info, recording(3, "in-context", "")).error().param, "ref_text");
  EXPECT_EQ(check_recording(info, recording(3, "magic", "")).error().message,
            "unknown cloning mode 'magic', expected: in-context, x-vector");
  EXPECT_EQ(check_recording(info, Recording{}).error().param, "ref_audio");
}

}  // namespace
}  // namespace syrinx
