// Audio of a client in a session: formats, the buffer, and the turns in it.
#include "server/realtime/audio_in.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "ears/recogniser.h"
#include "ears/end_of_turn.h"
#include "server/realtime/realtime_peer_test.h"

namespace syrinx {
namespace {

AudioIn loud_audio_in() {
  return AudioIn([](int) { return std::make_unique<LoudActivity>(); });
}

/// Passes all bytes to `audio`; returns where turns begin and end.
std::vector<TurnEvent> hear_all(AudioIn& audio, const std::string& bytes) {
  std::vector<TurnEvent> out;
  audio.append(bytes);
  while (audio.waits()) {
    const std::vector<float> piece = audio.next_piece();
    EXPECT_LE(piece.size(), size_t{kHearingRate} + 100);
    std::span<const float> rest = piece;
    while (const auto turn = audio.hear(rest, "")) {
      if (turn->kind == TurnEvent::kStarted || turn->kind == TurnEvent::kStopped) {
        out.push_back(*turn);
      }
    }
  }
  return out;
}

TEST(AudioIn, ATurnIsGivenOnceAndTakenWhole) {
  AudioIn audio = loud_audio_in();
  EXPECT_TRUE(audio.detect(TurnDetection{}));
  EXPECT_FALSE(audio.detect(TurnDetection{.create_response = false})) << "that is not its matter";
  const auto begun = hear_all(audio, pcm_24k(1000, false) + pcm_24k(1500, true));
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].kind, TurnEvent::kStarted);
  EXPECT_NEAR(static_cast<double>(begun[0].at_ms), 700, 20);
  EXPECT_EQ(audio.give().size(), audio.kept());
  EXPECT_NEAR(static_cast<double>(audio.kept()), 16 * 1800, 16 * 20);
  EXPECT_TRUE(audio.give().empty());
  const size_t before = audio.kept();
  const auto ended = hear_all(audio, pcm_24k(600, false));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].kind, TurnEvent::kStopped);
  EXPECT_EQ(audio.give().size(), audio.kept() - before);
  const size_t kept = audio.kept();
  EXPECT_EQ(audio.take().size(), kept);
  EXPECT_EQ(audio.kept(), 0u);
  EXPECT_LT(audio.kept_bytes(), 100u);
}

TEST(AudioIn, OtherTurnsForgetTheOneThatGoesOn) {
  AudioIn audio = loud_audio_in();
  ASSERT_TRUE(audio.detect(TurnDetection{}));
  EXPECT_EQ(hear_all(audio, pcm_24k(1000, true)).size(), 1u);
  ASSERT_TRUE(audio.detect(TurnDetection{.prefix_ms = 0}));
  const auto again =
      hear_all(audio, pcm_24k(1000, true));  // detect() dropped the turn, so a new turn begins
  ASSERT_EQ(again.size(), 1u);
  EXPECT_NEAR(static_cast<double>(again[0].at_ms), 1000, 20);
  EXPECT_TRUE(audio.detect({}));
  EXPECT_TRUE(hear_all(audio, pcm_24k(1000, false)).empty());
  AudioIn deaf({});
  EXPECT_THROW(deaf.detect(TurnDetection{}), LoadError);
  EXPECT_TRUE(hear_all(deaf, pcm_24k(1000, true)).empty());
}

TEST(AudioIn, ManualMode) {
  RealtimePeer peer;
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection": null}}})")));
  EXPECT_EQ(kinds_of(peer.send({{"type", "input_audio_buffer.commit"}})),
            "error:\"input_audio_buffer_commit_empty\"");
  peer.say(50, true);
  EXPECT_EQ(kinds_of(peer.send({{"type", "input_audio_buffer.commit"}})),
            "error:\"input_audio_buffer_commit_empty\"");
  EXPECT_EQ(kinds_of(peer.say(1000, true)), "");
  EXPECT_EQ(kinds_of(peer.send({{"type", "input_audio_buffer.clear"}})),
            "input_audio_buffer.cleared");
  peer.say(500, true);
  EXPECT_EQ(kinds_of(peer.send({{"type", "input_audio_buffer.commit"}})),
            "input_audio_buffer.committed conversation.item.added conversation.item.done");
  const std::string item = peer.opened.at(0).item;
  EXPECT_NEAR(static_cast<double>(peer.samples[item]) / kHearingRate, 0.5, 0.01);
  // A response that the client requests waits for the transcript.
  EXPECT_EQ(kinds_of(peer.send(respond())), "response.created");
  EXPECT_TRUE(peer.begun.empty());
  EXPECT_EQ(kinds_of(peer.hear_all(item, "hello")), "");
  ASSERT_EQ(peer.begun.size(), 1u);
  EXPECT_EQ(peer.begun[0].body["messages"][0]["content"], "hello");
}

TEST(AudioIn, SemanticTurnsEndByWhatWasSaid) {
  RealtimePeer peer;
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "semantic_vad", "eagerness": "high"}}}})")));
  peer.say(600, true);
  const std::string item = peer.opened.at(0).item;
  EXPECT_TRUE(peer.opened.at(0).wish.partial) << "the pause depends on it";
  peer.hear(item, {.partial = "I would like to go to the"});
  EXPECT_EQ(kinds_of(peer.say(900, false)), "");
  peer.hear(item, {.segments = {" I would like to go to the zoo."}});
  EXPECT_TRUE(kinds_of(peer.say(20, false)).starts_with("input_audio_buffer.speech_stopped"));
  // While the words are unknown, the session waits longer for the speaker, but not forever.
  peer.say(600, true);
  EXPECT_EQ(kinds_of(peer.say(1900, false)), "");
  EXPECT_TRUE(kinds_of(peer.say(200, false)).starts_with("input_audio_buffer.speech_stopped"));
}

/// A recogniser that hears the end of a turn takes precedence over the words.
TEST(AudioIn, SemanticTurnsEndWhereTheRecogniserHearsTheEnd) {
  RealtimePeer peer;
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
      {"type": "semantic_vad", "eagerness": "high"}}}})")));
  peer.say(600, true);
  peer.hear(peer.opened.at(0).item, {.partial = "I would like to go.", .done = false});
  EXPECT_EQ(kinds_of(peer.say(900, false)), "");
  peer.hear(peer.opened.at(0).item, {.done = true});
  EXPECT_TRUE(kinds_of(peer.say(20, false)).starts_with("input_audio_buffer.speech_stopped"));
}

TEST(AudioIn, APitchThatFellEndsATurnSooner) {
  const auto ends_after = [](double last_hz) {
    RealtimePeer peer;
    peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"turn_detection":
        {"type": "semantic_vad", "eagerness": "high"}}}})")));
    std::string bytes;
    double phase = 0;
    for (int i = 0; i < 24 * 1200; ++i) {
      phase += (i < 24 * 900 ? 150 : last_hz) / 24000;
      const int sample = phase - std::floor(phase) < 0.5 ? 8000 : -8000;
      bytes += static_cast<char>(sample & 255);
      bytes += static_cast<char>(sample >> 8 & 255);
    }
    peer.append(bytes);
    peer.hear(peer.opened.at(0).item, {.partial = "I am going home"});
    int pause = 0;
    while (pause < 3000 && !kinds_of(peer.say(20, false)).starts_with("input_audio_buffer.sp")) {
      pause += 20;
    }
    return pause;
  };
  EXPECT_LT(ends_after(120), 400);
  EXPECT_GT(ends_after(150), 500);
  EXPECT_GT(ends_after(180), 500);
}

TEST(AudioIn, AModelThatHearsTheEndIsAskedOnceInEachPause) {
  TurnDetection semantic;
  semantic.semantic = true;
  const auto ends_after = [&](TurnEnd answer, int answered_after_ms) {
    auto end = std::make_shared<std::atomic<TurnEnd>>(TurnEnd::kUnknown);
    int asked = 0;
    size_t heard = 0;
    AudioIn audio([](double) { return std::make_unique<LoudActivity>(); },
                  [&](std::vector<float> samples) {
                    ++asked, heard = samples.size();
                    return end;
                  });
    EXPECT_TRUE(audio.detect(semantic));
    EXPECT_EQ(hear_all(audio, pcm_24k(1500, true)).size(), 1u);
    EXPECT_EQ(asked, 0);
    int pause = 0;
    while (pause < 9000) {
      if (pause >= answered_after_ms) end->store(answer);
      if (!hear_all(audio, pcm_24k(20, false)).empty()) break;
      pause += 20;
    }
    EXPECT_EQ(asked, 1);
    EXPECT_NEAR(static_cast<double>(heard), 16 * (1500 + 200), 16 * 60) << "the turn and its pause";
    return pause;
  };
  const TurnPauses& usual = pauses_of(eagerness_of(semantic));
  EXPECT_NEAR(ends_after(TurnEnd::kDone, 0), pause_that_ends_ms(usual, "", false, true), 40);
  EXPECT_NEAR(ends_after(TurnEnd::kOpen, 0), pause_that_ends_ms(usual, "", false, false), 40);
  EXPECT_NEAR(ends_after(TurnEnd::kDone, 620), 640, 40) << "it is waited for";
  EXPECT_NEAR(ends_after(TurnEnd::kUnknown, 0), usual.longest, 40) << "not for ever";
}

/// The recogniser is notified at the same sample for any sizes of the pieces of audio.
TEST(AudioIn, APauseIsNoticedWhereItIs) {
  for (const int piece_ms : {20, 90, 1000}) {
    RealtimePeer peer;
    const std::string bytes =
        pcm_24k(600, true) + pcm_24k(300, false) + pcm_24k(400, true) + pcm_24k(700, false);
    const size_t piece = size_t{48} * static_cast<size_t>(piece_ms);
    for (size_t at = 0; at < bytes.size(); at += piece) peer.append(bytes.substr(at, piece));
    EXPECT_EQ(peer.pauses, (std::vector<std::string>{"paused", "resumed", "paused"}));
    ASSERT_EQ(peer.overs.size(), 1u);
    const std::string& item = peer.overs[0].item;
    EXPECT_NEAR(static_cast<double>(peer.paused_at.at(item)), 16 * (600 + 300 + 400 + kNoticedPauseMs),
                16 * 20);
    EXPECT_EQ(peer.overs[0].silence_ms, 500);
    EXPECT_TRUE(peer.overs[0].answers);
  }
}

TEST(AudioIn, HowAudioIsCutChangesNothing) {
  const auto run = [](uint32_t seed) {
    RealtimePeer peer;
    const std::string bytes = pcm_24k(500, false) + pcm_24k(800, true) + pcm_24k(1300, false);
    std::mt19937 random(seed);
    for (size_t at = 0; at < bytes.size();) {
      const size_t count = seed == 0 ? bytes.size() : 2 * (1 + random() % 3000);
      peer.append(bytes.substr(at, count));
      at += count;
    }
    std::string out;
    for (const JsonIn& event : peer.events) {
      out += event["type"].get<std::string>() + " " +
             event.value("audio_start_ms", JsonIn()).dump() +
             event.value("audio_end_ms", JsonIn()).dump() + "\n";
    }
    return out + std::to_string(peer.samples.begin()->second);
  };
  const std::string whole = run(0);
  EXPECT_NE(whole.find("committed"), whole.npos);
  EXPECT_EQ(run(1), whole);
  EXPECT_EQ(run(2), whole);
}

TEST(AudioIn, EndlessTalkEndsInTurns) {
  RealtimePeer peer;
  peer.send(
      session_update(JsonIn::parse(R"({"audio": {"input": {"format": {"type": "audio/pcmu"}}}})")));
  std::string minute = filled_with(size_t{60} * 8000, '\x80');  // the loudest codes of both signs
  for (size_t i = 0; i < minute.size(); i += 3) minute[i] = '\0';
  for (int i = 0; i < 6; ++i) peer.append(minute);
  EXPECT_EQ(peer.ended.size(), 1u);
  EXPECT_NEAR(static_cast<double>(peer.samples[peer.ended.at(0)]) / kHearingRate, 300, 1);
}

TEST(AudioIn, LongSilenceCostsNothing) {
  for (const bool manual : {false, true}) {
    RealtimePeer peer;
    if (manual) {
      peer.send(
          session_update(JsonIn::parse(R"({"audio": {"input": {"format": {"type": "audio/pcmu"},
                                                          "turn_detection": null}}})")));
    }
    const std::string minute = filled_with(size_t{60} * (manual ? 8000 : 48000), '\0');
    for (int i = 0; i < (manual ? 6 : 1); ++i) peer.append(minute);
    EXPECT_LT(peer.session->kept_bytes(), manual ? 24'000'000u : 1'000'000u);
    EXPECT_EQ(peer.events.size(), manual ? 3u : 2u);
  }
}

TEST(AudioIn, G711BothWays) {
  const std::vector<float> ramp = [] {
    std::vector<float> out;
    for (int i = -300; i <= 300; ++i) out.push_back(static_cast<float>(i) / 310.f);
    return out;
  }();
  for (const char* name : {"audio/pcmu", "audio/pcma", "audio/pcm"}) {
    const RealtimeFormat format = *realtime_format(name);
    std::string bytes;
    append_samples(ramp, format.coding, bytes);
    const std::vector<float> back = samples_of(bytes, format);
    ASSERT_EQ(back.size(), ramp.size()) << name;
    for (size_t i = 0; i < ramp.size(); ++i) {
      EXPECT_NEAR(back[i], ramp[i], 0.001 + 0.04 * std::abs(ramp[i])) << name << " " << i;
    }
    std::string again;
    append_samples(back, format.coding, again);
    // 8-bit codes are returned unchanged; 16-bit samples lose their lowest bit at high levels.
    EXPECT_TRUE(format.coding == SampleCoding::kS16 || again == bytes) << name;
  }
  EXPECT_FALSE(realtime_format("audio/opus"));
  RealtimePeer peer;
  peer.send(session_update(JsonIn::parse(R"({"audio": {"input": {"format": {"type": "audio/pcmu"},
                                                    "turn_detection": null}}})")));
  std::string second;
  append_samples(std::vector<float>(8000, 0.3f), SampleCoding::kMulaw, second);
  peer.append(second);
  peer.send({{"type", "input_audio_buffer.commit"}});
  EXPECT_NEAR(static_cast<double>(peer.samples[peer.opened.at(0).item]), 16000, 100);
}

}  // namespace
}  // namespace syrinx
