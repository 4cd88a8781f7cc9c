// Tests that the attempts at one window of a recording share the rows of its memory in the cache.
#include <gtest/gtest.h>

#include <memory>

#include "engine/testing/scripted_machine.h"
#include "families/whisper/fixture.h"

namespace syrinx::whisper {
namespace {

TEST(WhisperAttempts, ShareTheMemoryOfTheirWindow) {
  const auto model =
      std::make_shared<Whisper>(LoadSpec{checkpoint("small"), "tiny", WeightType::kF32});
  ScriptedMachine machine({.options = {.threads = 1}});
  machine.add(model);
  const auto ask = [&](const std::shared_ptr<Window>& window) {
    SpeechRequest request;
    request.task = window;
    const auto client = machine.submit(request);
    machine.run_to_end();
    EXPECT_TRUE(client && client->done) << machine.refusal.message;
    return window->heard;
  };
  const auto cases = golden_cases("small");
  const auto recording = golden_recording(cases, 0);
  const auto first = golden_window(*model, recording, cases["windows"][0]);
  first->keep_rows = true;
  const Heard heard = ask(first);
  const auto attempt = std::make_shared<Window>(*first);
  attempt->rows = heard.rows;
  const Counter& shared = machine.model().metrics.prefix_rows;
  EXPECT_EQ(ask(attempt).ids, heard.ids);
  EXPECT_EQ(shared.value(), 0);
  EXPECT_EQ(ask(attempt).ids, heard.ids);
  EXPECT_EQ(shared.value(), first->audio.rows);
  EXPECT_EQ(ask(attempt).logprobs, heard.logprobs);
}

}  // namespace
}  // namespace syrinx::whisper
