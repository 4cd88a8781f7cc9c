// Times of spoken turns until transcript, first text and first audio.
#include "server/realtime/turn_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "server/models/fake_backend_test.h"
#include "server/models/fake_writer_test.h"
#include "server/realtime/realtime_caller_test.h"

namespace syrinx {
namespace {

uint64_t observed(const Histogram& all) { return all.count(); }

std::string counts_of(const TurnMetrics& turns) {
  std::string out;
  for (const auto* waits : {&turns.since_voice, &turns.since_decision}) {
    for (const auto* part : {&waits->transcript_s, &waits->first_text_s, &waits->first_audio_s}) {
      out += std::to_string(observed(*part)) + ' ';
    }
  }
  return out;
}

TurnOver turn_over(const std::string& item) {
  return {.item = item, .silence_ms = 500, .heard = true, .answers = true};
}

TEST(TurnClock, MeasuresTheParts) {
  const auto all = std::make_shared<TurnMetrics>();
  TurnClock clock(all);
  clock.over(turn_over("a"), 100);
  clock.heard("a", true, 100.25);
  clock.begun("r");
  clock.wrote("r", 100.5);
  clock.wrote("r", 100.6);
  clock.sounded("r", 7);
  clock.sounded("r", 9);
  clock.written(6, 100.7);
  EXPECT_EQ(counts_of(*all), "1 1 0 1 1 0 ");
  clock.stopped("r");
  clock.written(8, 100.75);
  clock.written(9, 100.8);
  EXPECT_EQ(counts_of(*all), "1 1 1 1 1 1 ");
  EXPECT_NEAR(all->since_decision.transcript_s.sum(), 0.25, 1e-9);
  EXPECT_NEAR(all->since_decision.first_text_s.sum(), 0.5, 1e-9);
  EXPECT_NEAR(all->since_decision.first_audio_s.sum(), 0.75, 1e-9);
  EXPECT_NEAR(all->since_voice.transcript_s.sum(), 0.75, 1e-9);
  EXPECT_NEAR(all->since_voice.first_audio_s.sum(), 1.25, 1e-9);
}

TEST(TurnClock, MeasuresNoAnswerToNothing) {
  const auto all = std::make_shared<TurnMetrics>();
  TurnClock clock(all);
  clock.begun("typed");
  clock.wrote("typed", 1);
  clock.over(turn_over("cough"), 2);
  clock.heard("cough", false, 3);
  clock.begun("typed too");
  clock.wrote("typed too", 4);
  TurnOver asked_for = turn_over("manual");
  asked_for.answers = false;
  clock.over(asked_for, 5);
  clock.dropped("manual");
  clock.heard("manual", true, 6);
  clock.begun("asked for");
  clock.wrote("asked for", 7);
  clock.sounded("asked for", 1);
  clock.written(1, 8);
  EXPECT_EQ(counts_of(*all), "0 0 0 0 0 0 ");
}

/// Turns with late transcripts get one answer; the clock measures each of them.
TEST(TurnClock, MeasuresEachTranscript) {
  const auto all = std::make_shared<TurnMetrics>();
  TurnClock clock(all);
  clock.over(turn_over("a"), 10);
  clock.over(turn_over("b"), 12);
  clock.heard("a", true, 20);
  clock.heard("b", true, 21);
  clock.begun("r");
  clock.wrote("r", 22);
  EXPECT_EQ(counts_of(*all), "2 1 0 2 1 0 ");
  EXPECT_NEAR(all->since_decision.transcript_s.sum(), 10 + 9, 1e-9);
  EXPECT_NEAR(all->since_decision.first_text_s.sum(), 10, 1e-9);
  clock.stopped("r");  // the response ends without audio
  clock.sounded("r", 1);
  clock.written(1, 23);
  EXPECT_EQ(observed(all->since_voice.first_audio_s), 0u);
}

TEST(TurnClock, IsReadAsPrometheusReads) {
  TurnMetrics turns;
  turns.since_voice.first_audio_s.observe(0.95);
  std::string out;
  const LabelledMetrics list{"", &turns.all};
  write_prometheus({&list, 1}, out);
  for (const char* line : {"# TYPE syrinx_turn_first_audio_seconds histogram\n",
                           "syrinx_turn_first_audio_seconds_bucket{since=\"voice\",le=\"0.9\"} 0\n",
                           "syrinx_turn_first_audio_seconds_bucket{since=\"voice\",le=\"1\"} 1\n",
                           "syrinx_turn_first_audio_seconds_sum{since=\"voice\"} 0.95\n",
                           "syrinx_turn_transcript_seconds_count{since=\"decision\"} 0\n"}) {
    EXPECT_NE(out.find(line), out.npos) << line << out;
  }
}

TEST(TurnClock, AsksASessionWhenItsTurnsEnd) {
  RealtimeCaller caller(std::make_shared<FakeWriter>(), std::make_shared<FakeBackend>(),
                        PredictWhen::kNever);
  caller.sound(600, true);
  caller.end_turn("What time is it?");
  caller.answer();
  EXPECT_EQ(counts_of(*caller.turns), "1 1 1 1 1 1 ");
  const TurnMetrics::Waits& waits = caller.turns->since_voice;
  EXPECT_GE(waits.transcript_s.sum(), 0.5);
  EXPECT_GE(waits.first_text_s.sum(), waits.transcript_s.sum());
  EXPECT_GE(waits.first_audio_s.sum(), waits.first_text_s.sum());
}

}  // namespace
}  // namespace syrinx
