// The audio input of a Realtime API session: decodes bytes to samples at kHearingRate, keeps the
// samples until take() returns them, and finds turns in them. The caller gives the turns their item
// ids and sends their events to the client. Memory is bounded. Only one thread may use it at a
// time.
//
//   audio.append(bytes);
//   while (audio.waits()) {
//     const std::vector<float> piece = audio.next_piece();
//     std::span<const float> rest = piece;
//     while (auto turn = audio.hear(rest, transcript)) ...  // call take() at the end of a turn
//     audio.forget_old();
//   }
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ears/recogniser.h"
#include "ears/turns.h"
#include "server/realtime/realtime_config.h"
#include "server/realtime/spoken_bytes.h"

namespace syrinx {

/// Opens a voice detector with a threshold (TurnRules); throws LoadError if no detector exists.
using OpenActivity = std::function<std::unique_ptr<VoiceActivity>(double threshold)>;

/// Whether a pausing speaker has finished. kUnknown: no answer yet.
enum class TurnEnd : uint8_t { kUnknown, kOpen, kDone };
/// Starts to compute a TurnEnd on another thread from the newest samples at kHearingRate. Returns
/// at once; the other thread sets the value later.
using AskTurnEnd =
    std::function<std::shared_ptr<const std::atomic<TurnEnd>>(std::vector<float> samples)>;

class AudioIn {
 public:
  static constexpr double kPiece_s = 1;  ///< longest piece of audio that is processed at once

  /// Before the first detect(), no turns are found. Semantic detection calls `ask_turn_end` in each
  /// pause; without the function, words and pitch decide.
  explicit AudioIn(OpenActivity open_activity, AskTurnEnd ask_turn_end = {})
      : open_activity_(std::move(open_activity)), ask_turn_end_(std::move(ask_turn_end)) {}

  /// Sets the format of bytes that are appended after the call.
  void set_format(RealtimeFormat format);
  /// Sets how turns are found after the call; drops a current turn, but keeps its samples. Returns
  /// false if `turns` equals the current setting. Throws LoadError, and then changes nothing.
  bool detect(const std::optional<TurnDetection>& turns);

  /// Adds bytes to process. The caller must have processed all earlier bytes.
  void append(std::string bytes);
  bool waits() const { return decoded_ < waiting_.size(); }
  double waiting_s() const { return input_.format().seconds(waiting_.size() - decoded_); }
  /// Returns the samples of the next waiting bytes, at most kPiece_s.
  std::vector<float> next_piece();

  /// Processes `samples` up to the first event of a turn and removes the processed samples. Returns
  /// the event (a turn begins, pauses, resumes or ends), or nothing if the samples contain no
  /// event. Times count from the first sample of the session. A turn begins with its prefix, as far
  /// as samples are kept. It ends with a pause or after 300 s. In semantic detection, the length of
  /// that pause depends on `transcript`, the hypothesis of the turn so far, or on `done`: whether
  /// the recogniser predicts that the speaker has finished (unset: it makes no prediction).
  std::optional<TurnEvent> hear(std::span<const float>& samples, std::string_view transcript,
                                std::optional<bool> done = {});
  /// Returns the kept samples of the turn that earlier calls of give() have not returned.
  std::vector<float> give();
  /// Drops samples that no later turn, or answer to the user's silence (TurnDetection::idle_ms),
  /// can need. Without turn detection, keeps the newest 300 s.
  void forget_old();

  /// Returns the end of the newest speech, in ms of the session; without any, the detector's start.
  int64_t last_voice_ms() const;
  /// Returns whether the user pauses within a turn, so that the turn may end.
  bool pauses() const { return detector_ && detector_->pause_ms() >= kNoticedPauseMs; }
  /// Returns the length of all audio of the session so far.
  int64_t now_ms() const { return samples_ / (kHearingRate / 1000); }
  /// Drops the samples before `ms`.
  void keep_from(int64_t ms);
  /// Returns the number of kept samples; the last sample is at now_ms().
  size_t kept() const { return kept_.size(); }
  std::span<const int16_t> samples() const { return kept_; }
  size_t kept_bytes() const { return kept_.capacity() * sizeof(int16_t) + waiting_.capacity(); }
  /// Returns all kept samples and removes them; ends a current turn.
  std::vector<int16_t> take();

 private:
  bool speaking() const { return detector_ && detector_->speaking(); }
  void begin_turn(int64_t from);
  void forget_before(int64_t from);
  void ask_in_pause();
  bool pause_is_the_end(std::string_view transcript, std::optional<bool> done) const;

  const OpenActivity open_activity_;
  const AskTurnEnd ask_turn_end_;
  // The answer of ask_turn_end_ for the current pause; null if it was not called.
  std::shared_ptr<const std::atomic<TurnEnd>> turn_end_;
  InputAudio input_;
  std::string waiting_;  // bytes of the last append()
  size_t decoded_ = 0;   // bytes of `waiting_` that were decoded to samples
  std::optional<TurnDetection> turns_;
  std::unique_ptr<TurnDetector> detector_;  // null without turn detection
  int64_t detector_from_ = 0;               // samples of the session before detector_ began
  int64_t samples_ = 0;                     // all samples of the session so far
  std::vector<int16_t> kept_;
  size_t given_ = 0;  // samples of kept_ that give() has returned
};

}  // namespace syrinx
