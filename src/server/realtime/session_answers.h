// The responses of a session that run or wait for transcripts, and whether another response is due.
// Only one response at a time is in the conversation. Responses with `conversation: none` run
// beside it. Not thread-safe.
#pragma once

#include <list>
#include <string>

#include "server/realtime/foreseen_question.h"
#include "server/realtime/response.h"
#include "server/realtime/session_state.h"
#include "server/request/object_fields.h"

namespace syrinx {

class SessionAnswers {
 public:
  SessionAnswers(SessionState& session, ForeseenQuestion& question)
      : session_(session), question_(question) {}

  bool empty() const { return responses_.empty(); }
  /// Returns whether audio of an answer was sent. After that the voice cannot change.
  bool sounded() const { return sounded_; }

  /// Carry out response.create and response.cancel; each throws ApiError.
  void create(const JsonFields& event);
  void cancel(const JsonFields& event);
  /// Cancels the response of the conversation because the user has begun to speak.
  void interrupt();

  /// Records that the user's words need an answer.
  void want() { due_ = true; }
  /// Begins the due answer if all transcripts are known and the user does not speak.
  void answer_if_due();
  void begin(ResponseWish wish);
  /// Begins the responses whose transcripts are all known.
  void begin_waiting();
  /// Handles news of an answer; does nothing if the response has ended.
  void take(const std::string& id, const AnswerNews& news);

 private:
  using Responses = std::list<RealtimeResponse>;
  Responses::iterator joined();
  void cancel(Responses::iterator response, const char* reason);
  void end(Responses::iterator response);

  SessionState& session_;
  ForeseenQuestion& question_;
  Responses responses_;  // responses that run or wait for transcripts
  bool due_ = false;     // the user's words have no answer yet
  bool sounded_ = false;
  bool excused_ = false;  // the client has got the error that this session cannot answer
};

}  // namespace syrinx
