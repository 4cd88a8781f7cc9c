#include "server/realtime/foreseen_question.h"

#include <utility>

#include "base/ascii.h"
#include "server/realtime/response_wish.h"

namespace syrinx {

void ForeseenQuestion::foresee() {
  const RealtimeConfig& config = session_.config;
  const RealtimeFacts& facts = session_.facts;
  const bool answers =
      config.predict && !config.transcribes && facts.no_answer.empty() && !facts.hears;
  if (!answers || session_.answering) return;
  const bool by_itself = config.turns && config.turns->create_response;
  std::string known = by_itself ? session_.hearings.all_so_far() : "";
  known += trimmed(session_.typed);
  if (known.empty() || known == known_) return;
  known_ = std::move(known);
  session_.out.ask(Foresee{.pauses = session_.audio.pauses()});
}

void ForeseenQuestion::forget() {
  if (!std::exchange(known_, {}).empty()) session_.out.ask(ForgetForeseen{});
}

BeginAnswer ForeseenQuestion::so_far() const {
  const AnswerConfig& answer = session_.config.answer;
  const auto heard = [this](const std::string& id) { return session_.hearings.so_far(id); };
  BeginAnswer out = answer_to(session_.conversation, answer, session_.facts.hears);
  JsonIn& messages = out.body["messages"];
  messages = session_.conversation.messages(answer.instructions, session_.facts.hears, heard);
  const std::string said = session_.turn ? heard(*session_.turn) : "";
  for (const std::string& known : {said, std::string(trimmed(session_.typed))}) {
    if (!known.empty()) messages.push_back({{"role", "user"}, {"content", known}});
  }
  return out;
}

}  // namespace syrinx
