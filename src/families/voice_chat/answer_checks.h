// For tests of models that process recordings, write and speak in one stream of ids: comparisons
// with goldens, and checks of behaviour that several of these models share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "io/safetensors.h"
#include "model/past_context.h"
#include "model/step_runner.h"

namespace syrinx {

/// Checks that the ids of a track's prompt and answer equal those of the golden, whose first
/// `prompt` ids are the prompt. Compares the logits of steps 0, 1, `steps` / 2 and the last, to
/// `bound` (relative).
inline void expect_golden_answer(Runner& runner, Track& track, const Safetensors& golden,
                                 int prompt, int steps, int chunk, float bound) {
  const std::vector<int32_t> want = ints(golden.view("ids"));
  const Sequence& answer = *track.state;
  const auto told = answer.prompt_ids();
  EXPECT_EQ(std::vector<int32_t>(told.begin(), told.end()),
            std::vector<int32_t>(want.begin(), want.begin() + prompt));
  Track* tracks[] = {&track};
  while (!track.finished) runner.step(tracks, chunk);
  const auto made = answer.history(0);
  EXPECT_EQ(std::vector<int32_t>(made.begin(), made.end()), want);
  const View logits = golden.view("logits");
  int64_t row = 0;
  for (const int step : {0, 1, steps / 2, steps - 1}) {
    ASSERT_LT(step, std::ssize(track.logits));
    EXPECT_LT(relative(track.logits[step], floats(logits.slice(row, row + 1))), bound) << step;
    ++row;
  }
}

/// Returns the sampled ids of an answer so far. Valid as long as the track.
inline std::span<const int32_t> made_of(const Track& track) {
  const Sequence& answer = *track.state;
  return answer.history(0).subspan(answer.prompt_ids().size());
}

/// Checks that a spoken answer reports all its ids for later prompts, and that a written one none.
inline void expect_answers_to_come_back(const Pipeline& model, SpeechRequest request) {
  EXPECT_TRUE(model.info().writing.recalls);
  Runner runner(model);
  Track track = runner.open(request);
  ASSERT_TRUE(track.state);
  while (!track.finished) runner.step(track);
  const auto made = made_of(track);
  EXPECT_EQ(track.answer_ids, std::vector<int32_t>(made.begin(), made.end()));
  request.writing.text_only = true;
  Track written = runner.open(request);
  while (!written.finished) runner.step(written);
  EXPECT_TRUE(written.answer_ids.empty());
}

/// Checks which chats a model refuses, and which texts. `heard`: an accepted chat with one
/// recording, whose voice is that of all other requests. `role`: a role that the model refuses.
inline void expect_chat_refusals(const Pipeline& model, const SpeechRequest& heard,
                                 const std::string& role) {
  EXPECT_TRUE(model.open(heard).ok());
  SpeechRequest request = heard;
  auto& recordings = request.writing.recordings;
  const auto refusal = [&] { return refusal_of(model, request).message; };
  recordings = {};
  EXPECT_EQ(refusal(), "the chat has more places for recordings than the request has recordings");
  recordings.assign(2, heard.writing.recordings.at(0));
  EXPECT_EQ(refusal(), "the request has more recordings than the chat has places for them");
  recordings = {std::make_shared<Recording>(Recording{{}, 16000})};
  EXPECT_EQ(refusal(), "recording 1 is empty");
  recordings = {};
  const auto chat = [&](const std::string& by, const nlohmann::ordered_json& content) {
    const auto messages = nlohmann::ordered_json::array({{{"role", by}, {"content", content}}});
    request.writing.chat = std::make_shared<Chat>(Chat{messages.dump(), ""});
    return refusal();
  };
  EXPECT_EQ(chat(role, "x"), "this model does not accept messages with the role '" + role + "'");
  const auto part = [](const char* type) {
    return nlohmann::ordered_json::array({{{"type", type}}});
  };
  const char* only_text = "this model accepts only text, and recordings of users";
  EXPECT_EQ(chat("user", part("image")), only_text);
  EXPECT_EQ(chat("assistant", part("audio")), only_text);
  EXPECT_EQ(chat("user", std::string(100000, '1')).find(kPastContext), 0u);
  SpeechRequest nothing;
  nothing.voice = heard.voice;
  EXPECT_EQ(refusal_of(model, nothing).message, "the text contains nothing to speak");
}

/// Checks that a recording at 44.1 kHz is resampled to 16 kHz as in torchaudio, and that only the
/// first of several channels is used.
inline void expect_torchaudios_resampling(const Pipeline& model, SpeechRequest request) {
  EXPECT_TRUE(model.info().hearing.first_channel);
  ASSERT_EQ(request.writing.recordings.size(), 1u);
  auto other = std::make_shared<Recording>(*request.writing.recordings[0]);
  other->sample_rate = 44100;
  request.writing.recordings = {other};
  const auto opened = model.open(request);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const std::vector<float> want = resampled(other->samples, 44100, 16000, Resampling::kHann);
  const std::vector<float>& got = opened.value().samples;
  ASSERT_GE(got.size(), want.size());
  EXPECT_TRUE(std::equal(want.begin(), want.end(), got.begin()));
}

/// Checks that a text read aloud with a bound has exactly that many codes. The ids of its text do
/// not count. `is_code` separates codes from text. The text must be so long that it cannot end
/// before the bound.
template <typename IsCode>
void expect_so_many_codes(const Pipeline& model, SpeechRequest request, IsCode&& is_code) {
  for (const int codes : {10, 50}) {
    request.terms.max_frames = codes;
    Runner runner(model);
    Track track = runner.open(request);
    ASSERT_TRUE(track.state);
    while (!track.finished) runner.step(track);
    const auto made = made_of(track);
    EXPECT_EQ(std::count_if(made.begin(), made.end(), is_code), codes);
  }
}

}  // namespace syrinx
