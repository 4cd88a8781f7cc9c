#include "ears/repeated_passes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/check.h"

namespace syrinx {
namespace {

/// Returns transcripts of whole utterances when the test requests them. The text of a transcript is
/// the number of samples.
class WholeRecogniser final : public Recogniser {
 public:
  struct Utterance {
    ListenOptions options;
    std::shared_ptr<TranscriptSink> sink;
    size_t samples = 0;
    bool ended = false, cancelled = false, raised = false, told = false;
  };
  explicit WholeRecogniser(bool streams) { info_.streams = streams; }
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override {
    utterances.push_back(std::make_shared<Utterance>(Utterance{options, std::move(sink)}));
    return std::unique_ptr<Listener>(std::make_unique<Ear>(utterances.back(), behind_s));
  }
  void tell(size_t at) {
    Utterance& one = *utterances.at(at);
    if (std::exchange(one.told, true)) return;
    Transcript out;
    out.segments.push_back({.text = concat(" ", one.samples), .tokens = {}});
    one.sink->finished(std::move(out));
  }
  void fail(size_t at) {
    utterances.at(at)->sink->finished(Error{ErrorCode::kOverloaded, "no room"});
  }
  std::vector<std::shared_ptr<Utterance>> utterances;
  double behind_s = 0;

 private:
  class Ear final : public Listener {
   public:
    Ear(std::shared_ptr<Utterance> one, const double& behind_s)
        : one_(std::move(one)), behind_s_(behind_s) {}
    ~Ear() override { cancel(); }
    void hear(std::span<const float> samples) override { one_->samples += samples.size(); }
    void raise() override { one_->raised = true; }
    double wait_s() const override { return behind_s_; }
    double delay_s() const override { return behind_s_; }
    void end() override { one_->ended = true; }
    void cancel() override { one_->cancelled = true; }

   private:
    const std::shared_ptr<Utterance> one_;
    const double& behind_s_;
  };
  RecogniserInfo info_;
};

class PartialSink final : public TranscriptSink {
 public:
  void partial(std::string_view text) override { partials.emplace_back(text); }
  void segment(const TranscriptSegment& segment) override { segments.push_back(segment.text); }
  void finished(Result<Transcript> transcript) override {
    EXPECT_FALSE(result);
    result = transcript.value().text();
  }
  std::vector<std::string> partials, segments;
  std::optional<std::string> result;
};

TEST(RepeatedPasses, ReportWhatIsSaidSoFarEachHalfSecond) {
  const auto recogniser = std::make_shared<WholeRecogniser>(false);
  const auto sink = std::make_shared<PartialSink>();
  auto listener = listen_in_passes(recogniser, {.live = true}, sink, true).take();
  const std::vector<float> tenth(kHearingRate / 10, 0.f);
  for (int i = 0; i < 4; ++i) listener->hear(tenth);
  EXPECT_EQ(recogniser->utterances.size(), 1u) << "0.4 s are not enough";
  listener->hear(tenth);
  ASSERT_EQ(recogniser->utterances.size(), 2u);
  EXPECT_TRUE(recogniser->utterances[1]->options.background);
  EXPECT_FALSE(recogniser->utterances[1]->options.live);
  EXPECT_TRUE(recogniser->utterances[1]->ended);
  for (int i = 0; i < 10; ++i) listener->hear(tenth);
  EXPECT_EQ(recogniser->utterances.size(), 2u) << "one pass at a time";
  recogniser->tell(1);
  EXPECT_EQ(sink->partials, std::vector<std::string>{"8000"});
  listener->hear(tenth);
  ASSERT_EQ(recogniser->utterances.size(), 3u);
  // A hypothesis must not contain text that has become final.
  recogniser->utterances[0]->sink->segment({.end_s = 1, .text = " one", .tokens = {}});
  recogniser->tell(2);
  EXPECT_EQ(sink->partials.size(), 1u);
  for (int i = 0; i < 5; ++i) listener->hear(tenth);
  ASSERT_EQ(recogniser->utterances.size(), 4u);
  EXPECT_EQ(recogniser->utterances[3]->samples, size_t{kHearingRate} / 10 * 11);
  listener->end();
  EXPECT_TRUE(recogniser->utterances[3]->cancelled);
  recogniser->tell(3);
  EXPECT_EQ(sink->partials.size(), 1u) << "after the end only the result counts";
  recogniser->tell(0);
  EXPECT_EQ(sink->result, std::to_string(kHearingRate / 10 * 21));
}

TEST(RepeatedPasses, AreForThoseAloneThatDoNotStream) {
  const std::vector<float> second(kHearingRate, 0.f);
  for (const bool streams : {false, true}) {
    const auto recogniser = std::make_shared<WholeRecogniser>(streams);
    auto listener =
        listen_in_passes(recogniser, {.live = streams}, std::make_shared<PartialSink>(), true)
            .take();
    listener->hear(second);
    EXPECT_EQ(recogniser->utterances.size(), 1u);
  }
}

/// A recording: a second of speech, then a pause.
struct Paused {
  const std::shared_ptr<WholeRecogniser> recogniser = std::make_shared<WholeRecogniser>(false);
  const std::shared_ptr<PartialSink> sink = std::make_shared<PartialSink>();
  std::unique_ptr<Listener> listener =
      listen_in_passes(recogniser, {.scores = true, .live = true}, sink, false).take();
  const std::vector<float> tenth = std::vector<float>(kHearingRate / 10, 0.f);

  void speak(int tenths) {
    for (int i = 0; i < tenths; ++i) listener->hear(tenth);
  }
  explicit Paused(int tenths = 10) {
    speak(tenths);
    listener->pause(true);
    speak(3);
  }
};

TEST(EarlyPasses, TheLastPassBeginsInThePauseThatEndsTheTurn) {
  for (const bool heard_before_the_end : {true, false}) {
    Paused turn;
    ASSERT_EQ(turn.recogniser->utterances.size(), 2u);
    WholeRecogniser::Utterance& early = *turn.recogniser->utterances[1];
    EXPECT_TRUE(early.ended && early.options.background && early.options.scores);
    EXPECT_EQ(early.samples, size_t{kHearingRate}) << "without the pause";
    if (heard_before_the_end) turn.recogniser->tell(1);
    EXPECT_FALSE(turn.sink->result);
    turn.listener->end();
    EXPECT_TRUE(early.raised);
    EXPECT_FALSE(turn.recogniser->utterances[0]->ended);
    turn.recogniser->tell(1);
    EXPECT_EQ(turn.sink->result, std::to_string(kHearingRate));
    EXPECT_EQ(turn.sink->segments.size(), 1u);
    turn.recogniser->tell(0);  // the cancelled pass; a second result would fail the test
    EXPECT_EQ(turn.sink->segments.size(), 1u);
  }
}

TEST(EarlyPasses, ASpeakerThatGoesOnIsHeardWhole) {
  Paused turn;
  turn.listener->pause(false);
  EXPECT_TRUE(turn.recogniser->utterances[1]->cancelled);
  turn.speak(2);
  EXPECT_EQ(turn.recogniser->utterances[0]->samples, size_t{kHearingRate} / 10 * 15);
  turn.recogniser->tell(1);
  turn.listener->end();
  EXPECT_FALSE(turn.sink->result) << "the pass of an earlier pause is not the result";
  turn.recogniser->tell(0);
  EXPECT_EQ(turn.sink->result, std::to_string(kHearingRate / 10 * 15));
}

/// Without an early pass, the transcript at the end must cover the same samples.
TEST(EarlyPasses, WhatFailsOrIsTooLongIsHeardAtTheEnd) {
  Paused failed;
  failed.recogniser->fail(1);
  failed.listener->end();
  EXPECT_TRUE(failed.recogniser->utterances[0]->ended);
  failed.recogniser->tell(0);
  EXPECT_EQ(failed.sink->result, std::to_string(kHearingRate));

  Paused too_long(201);
  EXPECT_EQ(too_long.recogniser->utterances.size(), 1u);
  too_long.listener->end();
  too_long.recogniser->tell(0);
  EXPECT_EQ(too_long.sink->result, std::to_string(kHearingRate / 10 * 201));
}

/// The admission of recordings uses a listener's waiting time. A listener whose pass has ended must
/// not wait for the passes of other speakers.
TEST(EarlyPasses, APassThatHasEndedWaitsForNothing) {
  Paused turn;
  turn.recogniser->behind_s = 7;
  EXPECT_EQ(turn.listener->delay_s(), 7);
  turn.recogniser->tell(1);
  EXPECT_EQ(turn.listener->delay_s(), 0);
  turn.listener->pause(false);
  EXPECT_EQ(turn.listener->delay_s(), 7) << "more was said";

  Paused failed;
  failed.recogniser->behind_s = 7;
  failed.recogniser->fail(1);
  EXPECT_EQ(failed.listener->delay_s(), 7);
}

TEST(RepeatedPasses, ARecogniserThatIsBehindMakesOnlyTheLast) {
  const std::vector<float> second(kHearingRate, 0.f);
  for (const double behind_s : {kMostBehind_s, kMostBehind_s + 0.1}) {
    const auto recogniser = std::make_shared<WholeRecogniser>(false);
    const auto sink = std::make_shared<PartialSink>();
    recogniser->behind_s = behind_s;
    auto listener = listen_in_passes(recogniser, {.live = true}, sink, true).take();
    listener->hear(second);
    EXPECT_EQ(recogniser->utterances.size(), behind_s > kMostBehind_s ? 1u : 2u);
    listener->pause(true);
    EXPECT_EQ(recogniser->utterances.size(), behind_s > kMostBehind_s ? 1u : 3u);
    listener->hear(second);
    listener->end();
    if (behind_s > kMostBehind_s) {
      recogniser->tell(0);
      EXPECT_EQ(sink->result, std::to_string(kHearingRate)) << "the same as of an early pass";
    }
  }
}

}  // namespace
}  // namespace syrinx
