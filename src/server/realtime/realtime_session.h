// A session of OpenAI's Realtime API (GA) as a pure state machine: events of the client, and news
// of what hears and answers for it, go in; actions come out. It knows no sockets, no engine and no
// clock but that of the audio, and throws nothing whatever it gets. One thread at a time.
//
// It reads events and settings. What is said is a value of its own (spoken_turns.h), as are what is
// typed (typed_message.h), what is answered (session_answers.h), what clients do to items
// (session_items.h) and what is known of a question ahead (foreseen_question.h); they share
// session_state.h.
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
  /// `transcribes`: the session begins as one of the type "transcription".
  RealtimeSession(RealtimeFacts facts, bool transcribes);
  RealtimeSession(const RealtimeSession&) = delete;
  RealtimeSession& operator=(const RealtimeSession&) = delete;

  // Each appends what it asks for to `out`.

  /// Notes that the connection is open.
  void opened(RealtimeActions& out);
  /// Takes an event of the client. If it returns true, audio waits: call hear_more() until that
  /// returns false, before the next event.
  bool take(RealtimeEvent event, RealtimeActions& out);
  bool hear_more(RealtimeActions& out);

  void heard(const std::string& item, const HearingNews& news, RealtimeActions& out);
  void answered(const std::string& response, const AnswerNews& news, RealtimeActions& out);

  /// Removes the conversation up to this item from later prompts, because it did not fit.
  void leave_out(const std::string& last_item) { state_.conversation.leave_out(last_item); }

  /// Returns the request for an answer to the known part of the question; it has no response id.
  BeginAnswer foreseen() const { return question_.so_far(); }
  /// Returns the request for an answer to the final part of the current turn's audio.
  BeginAnswer heard_so_far() const { return turns_.heard_so_far(); }
  /// Returns how answers are predicted.
  const Prediction& prediction() const { return state_.config.prediction; }

  /// Returns whether no voice is heard and nothing is transcribed or answered.
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
