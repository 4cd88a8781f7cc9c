// A request in a simulated fleet, and the client that receives its answer. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "bench/meter.h"
#include "engine/engine.h"
#include "engine/platform.h"

namespace syrinx {

/// A request in the fleet.
struct Asked {
  RequestRecord record;
  int client = -1;
  size_t utterance = 0;
  std::optional<uint64_t> voice;
  int tries = 0;   ///< number of failed tries
  int avoid = -1;  ///< the worker of the last try; -1 before the first
};

/// A client that records when audio arrived, in seconds since the request was due.
class Listener : public Sink {
 public:
  using Done = std::function<void(Asked asked, double heard_until_s)>;
  Listener(Asked asked, const Platform& platform, int rate_hz, double delivery_s, Done done)
      : asked_(std::move(asked)),
        platform_(platform),
        rate_hz_(rate_hz),
        delivery_s_(delivery_s),
        done_(std::move(done)) {}

  const Asked& asked() const { return asked_; }
  bool answered() const { return asked_.record.first_byte_s.has_value(); }
  /// Ends the connection: later audio is ignored. Returns the request.
  Asked cut() {
    gone_ = true;
    asked_.record.playback = heard_.figures();
    return asked_;
  }

  void text(std::string_view, std::span<const ScoredToken>) override { answer(); }
  void audio(std::span<const float> samples) override {
    if (gone_) return;
    answer();
    RequestRecord& record = asked_.record;
    if (!record.first_audio_s) record.first_audio_s = since_due_s();
    heard_.arrive(since_due_s(), static_cast<double>(samples.size()) / rate_hz_);
  }
  void finished(const Outcome& outcome) override {
    if (gone_) return;
    gone_ = true;
    RequestRecord& record = asked_.record;
    record.playback = heard_.figures();
    record.total_s = since_due_s();
    if (outcome.reason == FinishReason::kError) {
      record.failure = Failure::kStatus;
      record.status = outcome.error.code == ErrorCode::kOverloaded ? 503 : 500;
      record.detail = outcome.error.message;
    }
    done_(asked_, record.due_s + heard_.ends_s());
  }

 private:
  void answer() {
    if (!gone_ && !asked_.record.first_byte_s) asked_.record.first_byte_s = since_due_s();
  }
  double since_due_s() const { return platform_.now() + delivery_s_ - asked_.record.due_s; }

  Asked asked_;
  Playback heard_;
  const Platform& platform_;
  const int rate_hz_;
  const double delivery_s_;
  const Done done_;
  bool gone_ = false;
};

}  // namespace syrinx
