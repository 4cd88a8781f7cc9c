#include "server/realtime/turn_times.h"

#include <array>
#include <utility>

namespace syrinx {
namespace {

constexpr std::array kWaits_s = {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9,
                                 1.0,  1.2, 1.5, 2.0, 3.0, 5.0, 10., 20., 60.};

}  // namespace

TurnMetrics::Waits::Waits(Metrics& all, const char* since)
    : transcript_s(all, "turn_transcript_seconds",
                   "Time from the end of a spoken turn to its transcript.", kWaits_s,
                   metric_label("since", since)),
      first_text_s(all, "turn_first_text_seconds",
                   "Time from the end of a spoken turn to first text of the answer.", kWaits_s,
                   metric_label("since", since)),
      first_audio_s(all, "turn_first_audio_seconds",
                    "Time from the end of a spoken turn to the first sent audio.", kWaits_s,
                    metric_label("since", since)) {}

void TurnClock::observe(Histogram TurnMetrics::Waits::*part, const End& end, double now_s) {
  (all_->since_voice.*part).observe(now_s - end.voice_s);
  (all_->since_decision.*part).observe(now_s - end.decision_s);
}

void TurnClock::over(const TurnOver& turn, double now_s) {
  if (!all_) return;
  const End end{.voice_s = now_s - static_cast<double>(turn.silence_ms) / 1000,
                .decision_s = now_s};
  if (turn.heard) unheard_[turn.item] = end;
  unanswered_.reset();
  if (turn.answers) unanswered_ = Turn{turn.item, end};
}

void TurnClock::heard(const std::string& item, bool words, double now_s) {
  const auto turn = unheard_.extract(item);
  if (turn.empty()) return;
  if (words) return observe(&TurnMetrics::Waits::transcript_s, turn.mapped(), now_s);
  if (unanswered_ && unanswered_->item == item) unanswered_.reset();
}

void TurnClock::begun(const std::string& response) {
  if (!unanswered_) return;
  answer_ = Answer{.response = response, .end = unanswered_->end};
  unanswered_.reset();
}

void TurnClock::wrote(const std::string& response, double now_s) {
  if (!answer_ || answer_->response != response || std::exchange(answer_->wrote, true)) return;
  observe(&TurnMetrics::Waits::first_text_s, answer_->end, now_s);
}

void TurnClock::sounded(const std::string& response, uint64_t frame) {
  if (answer_ && answer_->response == response && !answer_->frame) answer_->frame = frame;
}

void TurnClock::stopped(const std::string& response) {
  if (answer_ && answer_->response == response && !answer_->frame) answer_.reset();
}

void TurnClock::written(uint64_t frame, double now_s) {
  if (!answer_ || !answer_->frame || frame < *answer_->frame) return;
  observe(&TurnMetrics::Waits::first_audio_s, answer_->end, now_s);
  answer_.reset();
}

}  // namespace syrinx
