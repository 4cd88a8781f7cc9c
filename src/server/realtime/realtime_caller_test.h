// For tests of the Realtime API without a socket: a client of a session that has a recogniser, a
// writer and a voice. The test sets the transcript and its time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/realtime/realtime_peer_test.h"
#include "server/realtime/realtime_talk.h"
#include "server/request/wire.h"

namespace syrinx {

/// A recogniser whose transcripts the test sets.
class CueEars final : public Recogniser {
 public:
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions&,
                                         std::shared_ptr<TranscriptSink> sink) override {
    sinks.push_back(sink);
    return std::unique_ptr<Listener>(std::make_unique<Deaf>(*this));
  }
  std::vector<std::shared_ptr<TranscriptSink>> sinks;
  double pass_s = 0;  ///< predicted time of one pass of the recogniser
  int ended = 0;      ///< listeners that wait for a pass

 private:
  struct Deaf final : Listener {
    explicit Deaf(CueEars& ears) : ears_(ears) {}
    void hear(std::span<const float>) override {}
    double delay_s() const override { return ears_.ended * ears_.pass_s; }
    void end() override { ++ears_.ended; }
    void cancel() override {}

   private:
    CueEars& ears_;
  };
  const RecogniserInfo info_{.name = "cue", .family = "test", .languages = {"en"}, .streams = true};
};

/// A client and the events that it received.
class RealtimeCaller {
 public:
  RealtimeCaller(std::shared_ptr<Backend> writer, std::shared_ptr<Backend> speaker,
                 PredictWhen predict = PredictWhen::kUnlessNot, int sentence_chars = 400,
                 std::shared_ptr<CueEars> cue = std::make_shared<CueEars>())
      : cue_(std::move(cue)) {
    RealtimeCast cast;
    cast.writer = std::move(writer);
    cast.speaker = std::move(speaker);
    cast.ears = &ears_;
    cast.id = "x";
    cast.open_activity = [](double) { return std::make_unique<LoudActivity>(); };
    cast.predict = predict;
    cast.predictions = sums;
    cast.turns = turns;
    cast.first_sentence.max_chars = static_cast<size_t>(sentence_chars);
    talk = std::make_unique<RealtimeTalk>(std::move(cast), [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      changed_.notify_all();
    });
    pump();
  }

  void send(const JsonIn& event) {
    auto step = talk->read(event.dump(), false);
    while (step(now_s())) {
    }
    pump();
  }
  void set(JsonIn session) { send({{"type", "session.update"}, {"session", std::move(session)}}); }
  /// Sends audio at 24 kHz.
  void sound(int ms, bool loud) {
    send({{"type", "input_audio_buffer.append"}, {"audio", base64(pcm_24k(ms, loud))}});
  }
  void seems(const std::string& text) {
    cue_->sinks.back()->partial(text);
    pump();
  }
  /// Types text; `how` is append or replace.
  void type(const std::string& how, const std::string& text) {
    send({{"type", "input_text_buffer." + how}, {"text", text}});
  }
  void ask_typed() {
    send({{"type", "input_text_buffer.commit"}});
    send({{"type", "response.create"}});
  }
  /// Ends the turn; its transcript is `text`.
  void end_turn(const std::string& text) {
    sound(700, false);
    Transcript whole{.language = "en", .duration_s = 1, .segments = {}};
    if (!text.empty()) whole.segments.push_back({.text = " " + text});
    for (const TranscriptSegment& segment : whole.segments) cue_->sinks.back()->segment(segment);
    cue_->sinks.back()->finished(std::move(whole));
    pump();
  }
  /// Waits until done() returns true; returns false after a minute.
  bool wait(const std::function<bool()>& done) {
    const double until_s = now_s() + 60;
    while (!done() && now_s() < until_s) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(5), [this] { return woken_; });
      woken_ = false;
      lock.unlock();
      pump();
    }
    return done();
  }
  /// Reads at most 200 waiting events. Without a bound, an endless answer could arrive faster than
  /// a slow machine reads it.
  void pump() {
    for (int most = 200; most > 0; --most) {
      const SendMessage* frame = talk ? talk->next(now_s()) : nullptr;
      if (frame == nullptr) return;
      events.push_back(JsonIn::parse(frame->bytes));
      talk->written();
    }
  }
  int count(const std::string& type) const {
    return static_cast<int>(std::count_if(
        events.begin(), events.end(), [&](const JsonIn& event) { return event["type"] == type; }));
  }
  /// Waits for the end of the response; returns the transcript of its answer.
  std::string answer() {
    EXPECT_TRUE(wait([&] { return count("response.done") > 0; }));
    const JsonIn& response = events.back()["response"];
    EXPECT_EQ(response["status"], "completed") << response;
    return response["output"][0]["content"][0]["transcript"];
  }
  size_t audio_bytes() const {
    size_t bytes = 0;
    for (const JsonIn& event : events) {
      if (event["type"] != "response.output_audio.delta") continue;
      bytes += base64_decoded(event["delta"].get<std::string>())->size();
    }
    return bytes;
  }

  std::vector<JsonIn> events;
  std::shared_ptr<PredictionCounters> sums = std::make_shared<PredictionCounters>();
  std::shared_ptr<TurnMetrics> turns = std::make_shared<TurnMetrics>();

 private:
  const std::shared_ptr<CueEars> cue_;
  const Ears ears_{std::vector<std::shared_ptr<Recogniser>>{cue_}};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;

 public:
  std::unique_ptr<RealtimeTalk> talk;  // the last member, so that it is destroyed first
};

}  // namespace syrinx
