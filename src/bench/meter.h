// Measures one request from the client's side. All times are seconds since the request was
// due. So a late generator makes figures worse and never better. One thread at a time: the
// thread that makes the request writes; the thread that started the request reads after
// end().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/playback.h"

namespace syrinx {

/// The reason why a request failed.
enum class Failure {
  kNone,
  kConnect,   ///< the connection failed
  kStatus,    ///< the HTTP status is not 200, or the engine refused the request
  kProtocol,  ///< the answer is not HTTP or not the requested audio
  kCut,       ///< the connection ended before the answer was complete
  kTimeout,
  kSilent,  ///< a successful answer without a sample
  kSkipped  ///< not sent: too many requests were unfinished
};
/// Returns a name such as "connect" or "status"; static storage.
const char* failure_name(Failure failure);

/// The times of one request, in seconds, and its result.
struct RequestRecord {
  double due_s = 0;                     ///< when the request was due, since the run began
  double lag_s = 0;                     ///< from the due time until sent: lateness of the generator
  double total_s = 0;                   ///< from the due time to the end of the answer
  std::optional<double> first_byte_s;   ///< arrival of status line and headers
  std::optional<double> first_audio_s;  ///< arrival of the first sample that can be played
  std::optional<double> audible_s;      ///< first sound, if playback starts at first_audio_s
  double silence_s = 0;                 ///< length of the leading audio below the threshold
  PlaybackFigures playback;
  Failure failure = Failure::kNone;
  int status = 0;      ///< HTTP status; 0 if none arrived
  std::string detail;  ///< reason of the failure, in one line
  size_t text_bytes = 0;
  bool warmup = false;  ///< part of the warm-up, not counted

  bool ok() const { return failure == Failure::kNone; }
  double rtf() const { return playback.audio_s > 0 ? total_s / playback.audio_s : 0; }
};

/// The measured times of one request.
class Meter {
 public:
  /// `due_s` and `run_began_s` are times of now_s(). Samples of at least `audible_level` in (0, 1]
  /// count as sound.
  Meter(double due_s, double run_began_s, double audible_level);

  void sent(double now);
  void first_byte(double now);
  /// Records that samples at `rate_hz` arrived.
  void audio(double now, std::span<const int16_t> samples, int rate_hz);
  void audio(double now, std::span<const float> samples, int rate_hz);
  /// Ends the record; the last call. A successful end without audio becomes kSilent.
  void end(double now, Failure failure = Failure::kNone, std::string detail = "", int status = 0);

  const RequestRecord& record() const { return record_; }
  RequestRecord& record() { return record_; }
  /// Returns when the listener has played all audio, on the clock of now_s().
  double heard_until() const { return due_s_ + playback_.ends_s(); }

 private:
  template <typename Sample>
  void take(double now, std::span<const Sample> samples, int rate_hz, double full_scale);

  const double due_s_, audible_level_;
  Playback playback_;
  RequestRecord record_;
};

}  // namespace syrinx
