#include "ears/turns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "base/error.h"
#include "ears/recogniser.h"
#include "ears/speech_fixture.h"

namespace syrinx {
namespace {

/// A detector with a scripted result for each frame; the letter 'v' means a voice.
class ScriptedActivity final : public VoiceActivity {
 public:
  explicit ScriptedActivity(std::string script) : script_(std::move(script)) {}
  bool speaks(std::span<const int16_t>) override {
    return at_ < script_.size() && script_[at_++] == 'v';
  }

 private:
  std::string script_;
  size_t at_ = 0;
};

std::string frames(int count, char kind) { return std::string(static_cast<size_t>(count), kind); }

std::vector<TurnEvent> run_script(const std::string& script, TurnRules options = {},
                                  size_t piece = kActivityFrame) {
  TurnDetector detector(std::make_unique<ScriptedActivity>(script), options);
  const std::vector<float> loud(script.size() * kActivityFrame, 0.1f);
  std::vector<TurnEvent> out;
  for (size_t at = 0; at < loud.size(); at += piece) {
    detector.hear(std::span(loud).subspan(at, std::min(piece, loud.size() - at)), out);
  }
  return out;
}

TEST(Turns, OneTurnWithItsPrefixAndItsPause) {
  const auto events = run_script(frames(100, '.') + frames(50, 'v') + frames(100, '.'));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], (TurnEvent{TurnEvent::kStarted, 1000 - 300}));
  // At the first frame after the voice, two of the last three frames still have a voice.
  EXPECT_EQ(events[1], (TurnEvent{TurnEvent::kStopped, 1500 + 10 + 500}));
}

TEST(Turns, HowAudioIsCutChangesNothing) {
  const std::string script = frames(40, '.') + frames(70, 'v') + frames(60, '.') + frames(30, 'v');
  const auto whole = run_script(script, {}, 1'000'000);
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(run_script(script, {}, 1), whole);
  EXPECT_EQ(run_script(script, {}, 4097), whole);
}

TEST(Turns, ClicksAreNoTurn) {
  std::string script;
  for (int i = 0; i < 20; ++i) script += frames(11, 'v') + frames(20, '.');
  EXPECT_TRUE(run_script(script).empty());
  EXPECT_EQ(run_script(frames(12, 'v')).size(), 1u);
}

TEST(Turns, BreathsInAPauseDoNotProlongIt) {
  std::string pause;
  for (int i = 0; i < 10; ++i) pause += frames(9, '.') + "v";
  const auto events = run_script(frames(50, 'v') + pause);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].at_ms, 1010);
}

TEST(Turns, ShortPausesBelongToTheTurn) {
  const auto events = run_script(frames(30, 'v') + frames(48, '.') + frames(30, 'v'));
  EXPECT_EQ(events.size(), 1u);
}

TEST(Turns, PausesAreReportedWhereThatIsAskedFor) {
  const TurnRules options{.noticed_ms = 200};
  const auto events = run_script(frames(30, 'v') + frames(30, '.') + frames(30, 'v') +
                                     frames(19, '.') + frames(10, 'v') + frames(60, '.'),
                                 options);
  std::vector<TurnEvent::Kind> kinds;
  for (const TurnEvent& event : events) kinds.push_back(event.kind);
  using E = TurnEvent;
  EXPECT_EQ(kinds,
            (std::vector<E::Kind>{E::kStarted, E::kPaused, E::kResumed, E::kPaused, E::kStopped}));
  EXPECT_EQ(events[1].at_ms, 300 + 10 + 200);
  EXPECT_EQ(events[2].at_ms, 600 + 20);
  // A pause that ends the turn at the same time must not be reported separately.
  EXPECT_EQ(
      run_script(frames(30, 'v') + frames(60, '.'), {.silence_ms = 200, .noticed_ms = 200}).size(),
      2u);
}

TEST(Turns, ATurnBeginsAfterTheOneBefore) {
  const TurnRules options{.prefix_ms = 2000, .silence_ms = 200};
  const auto events =
      run_script(frames(30, 'v') + frames(25, '.') + frames(30, 'v') + frames(25, '.'), options);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].at_ms, 0);
  EXPECT_EQ(events[2].at_ms, events[1].at_ms);
}

TEST(Turns, AnotherSpeakerEndsATurn) {
  TurnDetector detector(std::make_unique<ScriptedActivity>(frames(100, 'v')), {});
  std::vector<TurnEvent> events;
  const std::vector<float> loud(20 * kActivityFrame, 0.1f);
  detector.hear(loud, events);
  ASSERT_EQ(events.size(), 1u);
  detector.reset();
  EXPECT_FALSE(detector.speaking());
  detector.hear(loud, events);  // the voice continues, so a new turn begins
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1], (TurnEvent{TurnEvent::kStarted, 200}));
}

TEST(Turns, QuietIsSilence) {
  TurnDetector detector(std::make_unique<ScriptedActivity>(frames(100, 'v')), {});
  std::vector<TurnEvent> events;
  detector.hear(std::vector<float>(100 * kActivityFrame, 0.001f), events);
  EXPECT_TRUE(events.empty());
}

TEST(Turns, BadSamplesAreNoTrouble) {
  TurnDetector detector(std::make_unique<ScriptedActivity>(frames(100, '.')), {});
  std::vector<TurnEvent> events;
  detector.hear(std::vector<float>{NAN, INFINITY, -INFINITY, 1e30f, -1e30f}, events);
  EXPECT_TRUE(events.empty());
}

std::unique_ptr<VoiceActivity> detector_or_null() try {
  return open_webrtc_activity(strictness_of(0.5));
} catch (const LoadError&) {
  return nullptr;
}

TEST(Turns, AVoiceBetweenSilencesAndNoise) {
  auto activity = detector_or_null();
  if (!activity) GTEST_SKIP() << "libwebrtc-audio-processing1 is not installed";
  const std::vector<float> speech = spoken("Good evening, everybody. Please come in.");
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 0.003f);
  std::vector<float> audio(3 * kHearingRate);
  audio.insert(audio.end(), speech.begin(), speech.end());
  audio.resize(audio.size() + 3 * kHearingRate);
  for (float& sample : audio) sample += noise(random);
  TurnDetector detector(std::move(activity), {.silence_ms = 800});
  std::vector<TurnEvent> events;
  detector.hear(audio, events);
  ASSERT_EQ(events.size(), 2u);
  const auto speech_ms = static_cast<int64_t>(speech.size()) * 1000 / kHearingRate;
  EXPECT_EQ(events[0].kind, TurnEvent::kStarted);
  EXPECT_NEAR(static_cast<double>(events[0].at_ms), 3000 - 300, 300);
  EXPECT_NEAR(static_cast<double>(events[1].at_ms), static_cast<double>(3000 + speech_ms + 800),
              400);
}

TEST(Turns, EveryStrictness) {
  EXPECT_EQ(strictness_of(0), 0);
  EXPECT_EQ(strictness_of(0.5), 2);
  EXPECT_EQ(strictness_of(1), 3);
}

}  // namespace
}  // namespace syrinx
