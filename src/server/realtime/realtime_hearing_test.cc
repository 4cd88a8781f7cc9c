// Sessions of the Realtime API, as state machines, whose model takes audio itself.
#include <gtest/gtest.h>

#include "ears/recogniser.h"
#include "server/realtime/realtime_peer_test.h"
#include "server/realtime/realtime_session.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

TEST(RealtimeHearing, AModelThatHearsWaitsForNoTranscript) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.say(300, false);
  peer.say(600, true);
  peer.say(700, false);
  EXPECT_TRUE(peer.opened.empty());
  ASSERT_EQ(peer.begun.size(), 1u);
  const JsonIn part = peer.begun[0].body["messages"][0]["content"][0];
  EXPECT_EQ(part["type"], "input_audio");
  const auto wav = base64_decoded(part["input_audio"]["data"].get<std::string>());
  ASSERT_TRUE(wav);
  EXPECT_NEAR(static_cast<double>(wav->size()), 44 + 2 * kHearingRate * 1.41, 1500);
}

TEST(RealtimeHearing, AModelThatHearsAnswersOnceThoughATranscriptIsSent) {
  RealtimePeer peer([](RealtimeFacts& facts) { facts.hears = true; });
  peer.send(session_update({{"audio", {{"input", {{"transcription", {{"model", "x"}}}}}}}}));
  const std::string item = peer.turn();
  ASSERT_EQ(peer.begun.size(), 1u);
  peer.end();
  EXPECT_EQ(kinds_of(peer.hear_all(item, "hello")),
            "conversation.item.input_audio_transcription.completed");
  EXPECT_EQ(peer.begun.size(), 1u);
}

TEST(RealtimeHearing, AModelThatHearsAnswersWithoutARecogniser) {
  for (const char* input : {R"({"transcription": {"model": "x"}})",
                            R"({"turn_detection": {"type": "semantic_vad"}})"}) {
    RealtimePeer peer([](RealtimeFacts& facts) { facts.hears = true; });
    peer.send(session_update({{"audio", {{"input", JsonIn::parse(input)}}}}));
    peer.say(300, false);
    peer.say(600, true);
    peer.hear(peer.opened.back().item,
              {.error = ApiError{.message = "deaf"}});  // the recogniser fails before the turn ends
    for (int i = 0; i < 10 && peer.begun.empty(); ++i) peer.say(700, false);
    EXPECT_EQ(peer.begun.size(), 1u) << input;
  }
}

TEST(RealtimeHearing, AModelThatHearsIsGivenATurnWhileItGoesOn) {
  RealtimePeer peer([](RealtimeFacts& facts) {
    facts.hears = true;
    facts.hears_ahead = {.each_s = 4, .anew_s = 10};
  });
  const auto heard_s = [&](size_t i) {
    const std::string data = peer.ahead.at(i).back()["content"][0]["input_audio"]["data"];
    return (static_cast<double>(base64_decoded(data)->size()) - 44) / 2 / kHearingRate;
  };
  peer.say(2000, false);
  peer.say(3600, true);  // less than 4 s together with the prefix
  EXPECT_EQ(peer.ahead.size(), 0u);
  peer.say(300, true);
  ASSERT_EQ(peer.ahead.size(), 1u);
  EXPECT_NEAR(heard_s(0), 4.02, 1e-9);
  peer.say(5000, true);  // the session processes it in pieces of a second
  ASSERT_EQ(peer.ahead.size(), 2u);
  EXPECT_NEAR(heard_s(1), 8.02, 1e-9);
  peer.say(2000, true);
  ASSERT_EQ(peer.ahead.size(), 3u);
  EXPECT_NEAR(heard_s(2), 10.02, 1e-9) << "stretches begin anew";
  EXPECT_EQ(peer.heard_all, 0);
  peer.say(700, false);
  EXPECT_EQ(peer.heard_all, 1);
  ASSERT_EQ(peer.begun.size(), 1u);
  peer.answer({.text = "Yes."});
  peer.end();
  peer.send(session_update({{"audio", {{"input", {{"turn_detection", nullptr}}}}}}));
  peer.say(4100, true);  // without turn detection, the whole buffer counts
  ASSERT_EQ(peer.ahead.size(), 4u);
  EXPECT_EQ(peer.ahead[3].size(), 3u) << "question, answer, and this";
  peer.send({{"type", "input_audio_buffer.clear"}});
  EXPECT_EQ(peer.forgotten_ahead, 1);
}

TEST(RealtimeHearing, NothingIsHeardAheadWhereNothingStays) {
  RealtimePeer transcribing(
      [](RealtimeFacts& facts) {
        facts.hears = true;
        facts.hears_ahead = {.each_s = 4};
      },
      true);
  RealtimePeer whole([](RealtimeFacts& facts) { facts.hears = true; });
  RealtimePeer cascade([](RealtimeFacts& facts) { facts.hears_ahead = {.each_s = 4}; });
  for (RealtimePeer* peer : {&transcribing, &whole, &cascade}) {
    peer->say(10'000, true);
    EXPECT_EQ(peer->ahead.size(), 0u);
  }
}

}  // namespace
}  // namespace syrinx
