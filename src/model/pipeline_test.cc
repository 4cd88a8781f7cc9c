#include "model/pipeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace syrinx {
namespace {

/// Returns the parameter that the refusal of a request names. Empty string if it is accepted.
std::string request_fault(const PipelineInfo& info, const SpeechRequest& request) {
  const Status status = check_request(info, request);
  return status ? "" : status.error().param;
}

TEST(CheckRequest, OptionsAreForModelsThatHaveThem) {
  PipelineInfo all;
  all.offers.add({{"flow"},
                  {"exaggeration"},
                  {"spell_numbers"},
                  {"inner_temperature"},
                  {"inner_top_p"},
                  {"inner_top_k"},
                  {"noise_scale"},
                  {"noise_w"},
                  {"length_scale"}});
  all.offers.add("speaker", {0, 9});
  const std::pair<const char*, void (*)(SpeechRequest&)> options[] = {
      {"flow", [](SpeechRequest& r) { r.terms.flow = FlowMode::kFull; }},
      {"flow", [](SpeechRequest& r) { r.terms.flow = FlowMode::kCausal; }},
      {"exaggeration", [](SpeechRequest& r) { r.voice.exaggeration = 0.25f; }},
      {"spell_numbers", [](SpeechRequest& r) { r.say.spell_numbers = true; }},
      {"spell_numbers", [](SpeechRequest& r) { r.say.spell_numbers = false; }},
      {"inner_temperature", [](SpeechRequest& r) { r.sampling.inner_temperature = 0.5f; }},
      {"inner_top_p", [](SpeechRequest& r) { r.sampling.inner_top_p = 0.5f; }},
      {"inner_top_k", [](SpeechRequest& r) { r.sampling.inner_top_k = 5; }},
      {"noise_scale", [](SpeechRequest& r) { r.sampling.noise_scale = 0.f; }},
      {"noise_w", [](SpeechRequest& r) { r.sampling.noise_w = 0.5f; }},
      {"length_scale", [](SpeechRequest& r) { r.voice.length_scale = 1.f; }},
      {"speaker", [](SpeechRequest& r) { r.voice.speaker = 9; }},
  };
  EXPECT_EQ(request_fault({}, {}), "");
  for (const auto& [name, set] : options) {
    SpeechRequest request;
    set(request);
    EXPECT_EQ(request_fault({}, request), name);
    EXPECT_EQ(request_fault(all, request), "") << name;
  }
}

TEST(CheckRequest, TasksAreForModelsOfTheirFamily) {
  SpeechRequest request;
  request.task = std::make_shared<FamilyTask>("glm4_voice");
  EXPECT_EQ(request_fault({}, request), "task");
  PipelineInfo info;
  info.family = "glm4_voice";
  EXPECT_EQ(request_fault(info, request), "");
}

TEST(CheckRequest, LateTextIsForModelsThatTakeIt) {
  SpeechRequest request;
  request.say.open = true;
  PipelineInfo info;
  EXPECT_EQ(request_fault(info, request), "input");
  info.speech.late_text = LateText::kSentence;
  EXPECT_EQ(request_fault(info, request), "");
}

TEST(CheckRequest, OptionsHaveBounds) {
  PipelineInfo info;
  info.offers.add("exaggeration");
  info.offers.add("speaker", {0, 9});
  SpeechRequest request;
  for (const float degree : {-0.1f, 2.1f, std::numeric_limits<float>::quiet_NaN()}) {
    request.voice.exaggeration = degree;
    EXPECT_EQ(request_fault(info, request), "exaggeration") << degree;
  }
  request = {};
  for (const int speaker : {-2, 10}) {
    request.voice.speaker = speaker;
    EXPECT_EQ(request_fault(info, request), "speaker") << speaker;
  }
}

TEST(CheckRequest, RecordingsOfAConversationAreTheModelsOwn) {
  PipelineInfo info;
  info.family = "csm";
  info.speech.context = true;
  SpeechRequest request;
  request.say.context.resize(1);
  request.say.context[0].recording =
      std::make_shared<const Voice>(Voice{.family = "csm", .encoder = "1", .mode = "continuation"});
  EXPECT_EQ(request_fault(info, request), "");
  request.say.context[0].recording =
      std::make_shared<const Voice>(Voice{.family = "zonos", .encoder = "1", .mode = "x-vector"});
  EXPECT_EQ(request_fault(info, request), "voice");
}

TEST(CheckRequest, EarlierAnswersAreOfModelsThatTakeThem) {
  PipelineInfo info;
  info.writes = true;
  SpeechRequest request;
  request.writing.answers = {{std::make_shared<const std::vector<int32_t>>(), 0.5}};
  EXPECT_EQ(request_fault(info, request), "messages");
  info.writing.recalls = true;
  EXPECT_EQ(request_fault(info, request), "");
  request.writing.answers[0].heard_s = -1;
  EXPECT_EQ(request_fault(info, request), "messages");
  request.writing.answers = {{}};
  EXPECT_EQ(request_fault(info, request), "messages");
}

}  // namespace
}  // namespace syrinx
