// Carries out the conversation.item events of clients. A function that throws an ApiError has
// changed nothing. Not thread-safe.
#pragma once

#include <string>

#include "server/realtime/session_answers.h"
#include "server/realtime/session_state.h"
#include "server/request/object_fields.h"

namespace syrinx {

class SessionItems {
 public:
  SessionItems(SessionState& session, SessionAnswers& answers)
      : session_(session), answers_(answers) {}

  void create(const JsonFields& event);
  void retrieve(const JsonFields& event);
  void remove(const JsonFields& event);
  void truncate(const JsonFields& event);

 private:
  void hear_part(const std::string& item, ItemPart& part);

  SessionState& session_;
  SessionAnswers& answers_;
};

}  // namespace syrinx
