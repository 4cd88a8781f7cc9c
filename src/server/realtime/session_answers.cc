#include "server/realtime/session_answers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kMostResponses = 4;

}  // namespace

/// Returns the response that belongs to the conversation; end() if no response does.
SessionAnswers::Responses::iterator SessionAnswers::joined() {
  return std::find_if(responses_.begin(), responses_.end(),
                      [](const RealtimeResponse& each) { return each.joined(); });
}

void SessionAnswers::create(const JsonFields& event) {
  const RealtimeFacts& facts = session_.facts;
  if (session_.config.transcribes) {
    event.refuse("type", "A transcription session does not answer.");
  }
  if (!facts.no_answer.empty()) {
    throw ApiError{.message = facts.no_answer, .param = "model", .code = "no_text_model"};
  }
  ResponseWish wish = read_response_wish(event, session_.config, facts, session_.conversation);
  if (const auto running = joined(); wish.joined && running != responses_.end()) {
    throw ApiError{.message = concat(
                       "Conversation already has an active response in progress: ", running->id(),
                       ". Wait until the response is finished before creating a new "
                       "one."),
                   .code = "conversation_already_has_active_response"};
  }
  if (responses_.size() >= kMostResponses) {
    throw ApiError{.status = 429,
                   .message = concat("At most ", kMostResponses, " responses run at a time."),
                   .code = "too_many_responses"};
  }
  if (wish.joined && !wish.input) due_ = false;
  begin(std::move(wish));
}

void SessionAnswers::cancel(const JsonFields& event) {
  const auto id = event.text("response_id");
  const auto at = std::find_if(
      responses_.begin(), responses_.end(),
      [&](const RealtimeResponse& each) { return id ? each.id() == *id : each.joined(); });
  if (at == responses_.end()) {
    throw ApiError{.message = "Cancellation failed: no active response found",
                   .code = "response_cancel_not_active"};
  }
  due_ = due_ && !at->joined();
  cancel(at, "client_cancelled");
}

void SessionAnswers::interrupt() {
  const auto running = joined();
  if (running != responses_.end()) cancel(running, "turn_detected");
}

void SessionAnswers::cancel(Responses::iterator response, const char* reason) {
  response->cancel(reason, session_.conversation, session_.out);
  end(response);
}

void SessionAnswers::end(Responses::iterator response) {
  if (response->joined()) session_.idle.answered(session_.audio.now_ms());
  responses_.erase(response);
  session_.answering = joined() != responses_.end();
  question_.foresee();  // the user may have typed a question during the answer
}

void SessionAnswers::begin(ResponseWish wish) {
  responses_.emplace_back(session_.out.new_id("resp"), std::move(wish), session_.facts)
      .send_created(session_.conversation, session_.out);
  session_.answering = joined() != responses_.end();
  begin_waiting();
}

void SessionAnswers::begin_waiting() {
  for (RealtimeResponse& response : responses_) {
    const bool waits =
        response.answers_session() && !session_.facts.hears && session_.conversation.pending();
    if (response.begun() || waits) continue;
    BeginAnswer begin = response.begin(session_.conversation);
    begin.truncation = session_.config.truncation;
    if (begin.foreseen) {  // this answer is to all the user's words, so no other answer is due,
                           // and the user's next words begin a new question
      question_.answered();
      due_ = false;
    }
    session_.out.ask(std::move(begin));
  }
}

void SessionAnswers::answer_if_due() {
  if (!due_ || session_.turn || session_.answering) return;
  if (!session_.facts.hears && session_.conversation.pending()) return;
  due_ = false;
  const std::string& no_answer = session_.facts.no_answer;
  if (no_answer.empty()) return begin({.config = session_.config.answer});
  if (std::exchange(excused_, true)) return;
  session_.out.send_error({.message = no_answer, .param = "model", .code = "no_text_model"}, "");
}

void SessionAnswers::take(const std::string& id, const AnswerNews& news) {
  const auto at = std::find_if(responses_.begin(), responses_.end(),
                               [&](const RealtimeResponse& each) { return each.id() == id; });
  if (at == responses_.end()) return;
  if (!news.audio.empty() && at->joined()) {
    session_.idle.sounded(session_.audio.now_ms(), at->format().seconds(news.audio.size()));
  }
  const bool over = at->write(news, session_.conversation, session_.out);
  sounded_ = sounded_ || at->sounded();
  if (!over) return;
  end(at);
  answer_if_due();
}

}  // namespace syrinx
