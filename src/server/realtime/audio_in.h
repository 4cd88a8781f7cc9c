// What a client says in a session of the Realtime API: from bytes to samples at kHearingRate, kept
// until they are taken, and the turns among them. It knows neither conversations nor events: its
// owner names the turns and sends their events. Bounded, however much comes. One thread at a time.
//
//   audio.append(bytes);
//   while (audio.waits()) {
//     const std::vector<float> piece = audio.next_piece();
//     std::span<const float> rest = piece;
//     while (auto turn = audio.hear(rest, transcript)) ...  // where it is over: take() it
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

/// A detector of voices by threshold (TurnRules); throws LoadError where there is none.
using OpenActivity = std::function<std::unique_ptr<VoiceActivity>(double threshold)>;

/// Whether a speaker that pauses is done, as another thread finds it.
enum class TurnEnd : uint8_t { kUnknown, kOpen, kDone };
/// Begins to find it from samples at kHearingRate, of which the last seconds count; does not wait.
using AskTurnEnd =
    std::function<std::shared_ptr<const std::atomic<TurnEnd>>(std::vector<float> samples)>;

class AudioIn {
 public:
  static constexpr double kPiece_s = 1;  ///< of audio that is heard at once

  /// Without a detector: there are no turns, until detect() says otherwise.
  /// `ask_turn_end` is asked in semantic detection after a short pause; may be empty.
  explicit AudioIn(OpenActivity open_activity, AskTurnEnd ask_turn_end = {})
      : open_activity_(std::move(open_activity)), ask_turn_end_(std::move(ask_turn_end)) {}

  /// Sets the format of bytes that come from now on.
  void set_format(RealtimeFormat format);
  /// Sets how turns are found from now on; a turn that goes on is forgotten, and what was heard
  /// stays. False: as before, nothing changes. Throws LoadError, and then changes nothing.
  bool detect(const std::optional<TurnDetection>& turns);

  /// Bytes wait to be heard, after those before them are.
  void append(std::string bytes);
  bool waits() const { return decoded_ < waiting_.size(); }
  double waiting_s() const { return input_.format().seconds(waiting_.size() - decoded_); }
  /// The samples of the next of them, at most kPiece_s.
  std::vector<float> next_piece();

  /// Hears of `samples` up to where a turn begins, pauses, goes on or ends, and takes off what it
  /// heard; nothing: to their end. Times are those of all that was heard. A turn begins with its
  /// prefix, at most what is kept; it ends with a pause, after 300 s, or, in semantic detection,
  /// after the pause that fits `transcript`, which is what seems to be said in it so far.
  std::optional<TurnEvent> hear(std::span<const float>& samples, std::string_view transcript);
  /// What is kept and was not given before: of a turn, once it began.
  std::vector<float> give();
  /// Forgets what is too old to belong to a turn or to a silence that is answered
  /// (TurnDetection::idle_ms); without detection, to be committed.
  void forget_old();

  /// End of the last voice of the turn, or of the one before; where there was none, 0 or later.
  int64_t last_voice_ms() const;
  /// All that was heard so far.
  int64_t now_ms() const { return samples_ / (kHearingRate / 1000); }
  /// Forgets what is older.
  void keep_from(int64_t ms);
  /// Samples that are kept; the last one is now.
  size_t kept() const { return kept_.size(); }
  std::span<const int16_t> samples() const { return kept_; }
  size_t kept_bytes() const { return kept_.capacity() * sizeof(int16_t) + waiting_.capacity(); }
  /// All of them; none are kept then, and a turn that went on has ended.
  std::vector<int16_t> take();

 private:
  bool speaking() const { return detector_ && detector_->speaking(); }
  void begin_turn(int64_t from);
  void forget_before(int64_t from);
  void ask_in_pause();
  bool pause_is_the_end(std::string_view transcript) const;

  const OpenActivity open_activity_;
  const AskTurnEnd ask_turn_end_;
  std::shared_ptr<const std::atomic<TurnEnd>> turn_end_;  // of this pause; null: not asked
  InputAudio input_;
  std::string waiting_;  // bytes of an append
  size_t decoded_ = 0;   // of them, those that are samples by now
  std::optional<TurnDetection> turns_;
  std::unique_ptr<TurnDetector> detector_;  // where there are turns
  int64_t detector_from_ = 0;               // samples of the session before it
  int64_t samples_ = 0;                     // of the session
  std::vector<int16_t> kept_;
  size_t given_ = 0;  // of them
};

}  // namespace syrinx
