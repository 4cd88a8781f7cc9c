// A message that a client types: the input_text_buffer events of a session. A function that throws
// an ApiError has changed nothing. Not thread-safe.
#pragma once

#include <string>

#include "server/realtime/foreseen_question.h"
#include "server/realtime/session_state.h"
#include "server/request/object_fields.h"

namespace syrinx {

class TypedMessage {
 public:
  TypedMessage(SessionState& session, ForeseenQuestion& question)
      : session_(session), question_(question) {}

  void append(const JsonFields& event);
  void replace(const JsonFields& event);
  /// Makes the complete message an item; response.create requests its answer.
  void commit();
  void clear();

 private:
  void type(std::string text, const JsonFields& event);

  SessionState& session_;
  ForeseenQuestion& question_;
};

}  // namespace syrinx
