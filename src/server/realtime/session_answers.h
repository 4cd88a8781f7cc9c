// The responses of a session: those that run or wait for the transcripts of what they answer, and
// whether one is due. One response at a time is in the conversation; others (`conversation: none`)
// run beside it. One thread at a time.
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
  /// Returns whether audio of an answer was sent, so that the voice is fixed.
  bool sounded() const { return sounded_; }

  /// response.create and response.cancel; each throws ApiError.
  void create(const JsonFields& event);
  void cancel(const JsonFields& event);
  /// A voice begins: cancels the response of the conversation.
  void interrupt();

  /// Something was said that wants an answer.
  void want() { due_ = true; }
  /// Answers what was said, once it is all known and no voice is heard.
  void answer_if_due();
  void begin(ResponseWish wish);
  /// Asks for the answers that wait for no transcript any more.
  void begin_waiting();
  /// News of an answer; nothing happens where the response has ended.
  void take(const std::string& id, const AnswerNews& news);

 private:
  using Responses = std::list<RealtimeResponse>;
  Responses::iterator joined();
  void cancel(Responses::iterator response, const char* reason);
  void end(Responses::iterator response);

  SessionState& session_;
  ForeseenQuestion& question_;
  Responses responses_;  // that run or wait for transcripts
  bool due_ = false;     // something was said that has no answer
  bool sounded_ = false;
  bool excused_ = false;  // the error that there are no answers was sent
};

}  // namespace syrinx
