// A model that hears by itself hears a turn while it goes on: what was said before, and of the turn
// the stretches that stay as they are (HearingFacts::ahead), as a request in the background
// that answers nothing. What it heard, and what its language model has read, the answer's request
// finds done; only the rest is left when the turn ends. One request at a time; what comes meanwhile
// waits for the next. Ends all it began. One thread, but for `wake`.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "server/models/backend.h"
#include "server/realtime/chat_check.h"
#include "server/realtime/realtime_actions.h"

namespace syrinx {

/// Returns the samples, of `samples` at kHearingRate of a recording that goes on, in stretches that
/// stay, and what must follow them; 0: nothing stays yet.
size_t heard_for_good(const std::optional<HearingFacts::Stretches>& stretches, size_t samples);

class HearingAhead {
 public:
  /// `question` returns the request for an answer to the turn so far.
  HearingAhead(std::shared_ptr<Backend> hearer, uint64_t client, PostTask post,
               std::function<BeginAnswer()> question, std::function<void()> wake);
  ~HearingAhead();
  HearingAhead(const HearingAhead&) = delete;
  HearingAhead& operator=(const HearingAhead&) = delete;

  /// Notes that another stretch of the turn is complete.
  void hear();
  /// Processes new results; returns false if there were none.
  bool pump();
  /// The turn has ended. What is being heard goes on, at once, if the answer needs it next; else it
  /// ends.
  void finish();
  /// Returns a function for whether the running request still runs. Ends that request first unless
  /// it is a beginning of this chat request's body.
  std::function<bool()> still_running(const JsonIn& body);

 private:
  class Ending;
  /// The audio of a request: a hash of all messages before the turn, and the turn's recording.
  struct Question {
    size_t messages = 0, known = 0;
    std::string turn = {};
  };
  static Question question_in(const JsonIn& body, size_t messages);
  bool serves(const JsonIn& body) const;
  void begin();
  void submit(ChatCall& call);
  void drop();

  const std::shared_ptr<Backend> hearer_;
  const uint64_t client_;
  const PostTask post_;
  const std::function<BeginAnswer()> question_;
  const std::function<void()> wake_;
  bool more_ = false;  // to be heard next
  std::shared_ptr<ChatCheck> check_;
  std::shared_ptr<Ending> ending_;
  std::optional<RequestId> running_;
  Question heard_;  // by what is checked or runs
};

}  // namespace syrinx
