// The spoken turns of a session. The voice detector or the client ends a turn, which then becomes
// an item of the conversation. Events come in the documented order: speech_started, speech_stopped,
// committed, item.added, item.done. Not thread-safe.
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

  // Handle the events of input_audio_buffer; each throws ApiError.
  void append(std::string bytes);
  void commit();
  void clear();
  /// Processes the next piece of the appended audio.
  void hear_piece();
  /// Handles news of an utterance's transcript. Does nothing if its recognition was stopped.
  void take(const std::string& item, const HearingNews& news);
  /// Drops the current turn and its transcript.
  void drop();
  /// Returns the request for an answer to the final stretches of this turn (HearingFacts::ahead).
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
  size_t ahead_ = 0;  // samples of the current turn that HearAhead was requested for
};

}  // namespace syrinx
