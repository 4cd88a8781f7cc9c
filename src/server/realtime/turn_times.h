// Measures how long speakers of the Realtime API wait: from the end of speech to the transcript, to
// the answer's first text and to its first audio. Measures only turns that the voice detector
// ended, and only answers that need no further event of the client.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/metrics.h"
#include "server/realtime/realtime_actions.h"

namespace syrinx {

/// Waits of all sessions of a process, in seconds. One thread writes them, any thread reads them.
struct TurnMetrics {
  struct Waits {
    Waits(Metrics& all, const char* since);
    Histogram transcript_s;   ///< until the complete transcript, if it has words
    Histogram first_text_s;   ///< until the first text that the model writes
    Histogram first_audio_s;  ///< until the first audio is written to the connection
  };
  Metrics all;
  /// Measured from the end of speech: since_decision plus the pause.
  Waits since_voice{all, "voice"};
  /// Measured from the moment at which a pause ended the turn.
  Waits since_decision{all, "decision"};
};

/// Measures the turns of one session. `now_s` of all calls comes from the same clock. Only the
/// thread that writes the TurnMetrics may use it.
class TurnClock {
 public:
  /// Without metrics, the clock measures nothing.
  explicit TurnClock(std::shared_ptr<TurnMetrics> all) : all_(std::move(all)) {}

  void over(const TurnOver& turn, double now_s);
  /// Records that the transcript of an item is complete; without `words` its turn gets no answer.
  void heard(const std::string& item, bool words, double now_s);
  /// Records that the hearing of an item was dropped.
  void dropped(const std::string& item) { unheard_.erase(item); }
  /// Records the beginning of an answer to the latest turn, if that turn has no answer yet.
  void begun(const std::string& response);
  void wrote(const std::string& response, double now_s);
  /// Records that the WebSocket frame number `frame` to the client has audio of the answer.
  void sounded(const std::string& response, uint64_t frame);
  /// Records that the answer has ended. Audio that already has a WebSocket frame is still measured.
  void stopped(const std::string& response);
  /// Records that all WebSocket frames up to number `frame` were written to the connection.
  void written(uint64_t frame, double now_s);

 private:
  struct End {
    double voice_s = 0, decision_s = 0;
  };
  struct Turn {
    std::string item;
    End end;
  };
  struct Answer {
    std::string response;
    End end;
    bool wrote = false;
    std::optional<uint64_t> frame = {};  // number of the WebSocket frame with its first audio
  };
  void observe(Histogram TurnMetrics::Waits::*part, const End& end, double now_s);

  const std::shared_ptr<TurnMetrics> all_;
  std::map<std::string, End> unheard_;  // turns by item, until their transcripts are complete
  std::optional<Turn> unanswered_;      // the latest turn
  std::optional<Answer> answer_;        // the latest answer, until its first audio is written
};

}  // namespace syrinx
