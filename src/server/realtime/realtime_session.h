// A session of OpenAI's Realtime API (GA) as a pure state machine. It receives the client's events
// and news about transcripts and answers, and returns actions. It has no sockets, no engine and no
// clock except the time of the audio. It never throws. Not thread-safe.
//
// It reads events and settings. Its parts are spoken turns (spoken_turns.h), typed messages
// (typed_message.h), answers (session_answers.h), the items that clients change (session_items.h)
// and the part of the question known so far (foreseen_question.h); they share session_state.h.
#pragma once

#include <string>

#include "server/realtime/foreseen_question.h"
#include "server/realtime/realtime_actions.h"
#include "server/realtime/realtime_event.h"
#include "server/realtime/session_answers.h"
#include "server/realtime/session_items.h"
#include "server/realtime/session_state.h"
#include "server/realtime/spoken_turns.h"
#include "server/realtime/typed_message.h"

namespace syrinx {

class RealtimeSession {
 public:
  /// `transcribes`: the session begins with the type "transcription".
  RealtimeSession(RealtimeFacts facts, bool transcribes);
  RealtimeSession(const RealtimeSession&) = delete;
  RealtimeSession& operator=(const RealtimeSession&) = delete;

  // The following functions append actions to `out`.

  /// Records that the connection is open.
  void opened(RealtimeActions& out);
  /// Handles an event of the client. If it returns true, audio is waiting: before the next event,
  /// call hear_more() until it returns false.
  bool take(RealtimeEvent event, RealtimeActions& out);
  bool hear_more(RealtimeActions& out);

  void heard(const std::string& item, const HearingNews& news, RealtimeActions& out);
  void answered(const std::string& response, const AnswerNews& news, RealtimeActions& out);

  /// Omits this item and all earlier items from later prompts, because they did not fit.
  void leave_out(const std::string& last_item) { state_.conversation.leave_out(last_item); }

  /// Returns the request for an answer to the known part of the question, without a response id.
  BeginAnswer foreseen() const { return question_.so_far(); }
  /// Returns the request for an answer to the current turn's final stretches (HearingFacts::ahead).
  BeginAnswer heard_so_far() const { return turns_.heard_so_far(); }
  /// Returns how answers are predicted.
  const Prediction& prediction() const { return state_.config.prediction; }

  /// Returns whether no turn, transcript or answer is in progress.
  bool quiet() const;
  /// Returns the bytes of kept audio.
  size_t kept_bytes() const { return state_.audio.kept_bytes(); }

 private:
  void understand(RealtimeEvent& event);
  void update_session(const JsonFields& event);
  void wish_transcripts();

  SessionState state_;
  ForeseenQuestion question_{state_};
  SessionAnswers answers_{state_, question_};
  SpokenTurns turns_{state_, question_, answers_};
  TypedMessage typed_{state_, question_};
  SessionItems items_{state_, answers_};
};

}  // namespace syrinx
