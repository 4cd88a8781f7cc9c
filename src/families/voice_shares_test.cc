// Tests the ways in which a request names its voice: shares of a mix, numbers, refused names.
#include <gtest/gtest.h>

#include "base/check.h"
#include "families/loading/describe.h"

namespace syrinx {
namespace {

PipelineInfo info_of(int voices) {
  PipelineInfo info;
  for (int i = 0; i < voices; ++i) info.speech.voices.push_back({concat("v", i), "a voice"});
  info.speech.default_voice = "v1";
  return info;
}

TEST(VoiceShares, AddUpToOne) {
  const PipelineInfo info = info_of(3);
  EXPECT_EQ(voice_shares(info, {}).value(), (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(voice_shares(info, {.name = "v2"}).value(), (std::vector<float>{0, 0, 1}));
  const RequestVoice mix{.mix = {{"v0", nullptr, 1.f}, {"", nullptr, 2.f}, {"v0", nullptr, 1.f}}};
  EXPECT_EQ(voice_shares(info, mix).value(), (std::vector<float>{0.5f, 0.5f, 0}));
  const RequestVoice data{.mix = {{"", std::make_shared<Voice>(), 1.f}}};
  EXPECT_EQ(voice_shares(info, data).error().code, ErrorCode::kUnsupported);
}

TEST(VoiceShares, SpeakersOfOneVoiceHaveNumbers) {
  PipelineInfo info = info_of(3);
  EXPECT_EQ(voice_shares(info, {.name = "2"}).error().code, ErrorCode::kNotFound);
  info.speech.voices_are_speakers = true;
  EXPECT_EQ(voice_shares(info, {.name = "2"}).value(), (std::vector<float>{0, 0, 1}));
  for (const char* name : {"3", "-1", "2x", " 2", "v3"})
    EXPECT_EQ(voice_shares(info, {.name = name}).error().param, "voice") << name;
}

TEST(VoiceShares, ARefusalNamesTheFirstVoices) {
  const auto message = [](int voices) { return unknown_voice(info_of(voices), "x").message; };
  EXPECT_EQ(message(2), "the model has no voice \"x\"; it has v0, v1");
  EXPECT_TRUE(message(60).ends_with("v48, v49 and 10 more"));
}

}  // namespace
}  // namespace syrinx
