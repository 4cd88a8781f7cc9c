// The spoken turns of a session. The voice detector or the client ends a turn, which then becomes
// an item of the conversation. Events come in the documented order: speech_started, speech_stopped,
// committed, item.added, item.done. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "server/realtime/foreseen_question.h"
#include "server/realtime/session_answers.h"
#include "server/realtime/session_state.h"

namespace syrinx {

class SpokenTurns {
 public:
  SpokenTurns(SessionState& session, ForeseenQuestion& question, SessionAnswers& answers)
      : session_(session), question_(question), answers_(answers) {}

  // The input_audio_buffer's events; each throws ApiError.
  void append(std::string bytes);
  void commit();
  void clear();
  /// Hears the next piece of what was appended.
  void hear_piece();
  /// News of what hears an utterance; nothing happens where it is not heard any more.
  void take(const std::string& item, const HearingNews& news);
  /// Forgets what is said, and its hearing.
  void drop();
  /// Returns what would be asked if what is heard for good of this turn were all of it.
  BeginAnswer heard_so_far() const;

 private:
  void hear(const TurnEvent& turn);
  void begin(int64_t at_ms);
  void end(int64_t at_ms);
  void answer_silence();
  void give_samples(const std::string& item);
  void become_item(const std::string& id, bool answer);
  void end_hearing(const std::string& item);
  void hear_ahead();
  void forget_ahead();

  SessionState& session_;
  ForeseenQuestion& question_;
  SessionAnswers& answers_;
  size_t ahead_ = 0;  // samples of what is being said that are heard ahead
};

}  // namespace syrinx
