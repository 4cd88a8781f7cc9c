// Lets a model process a turn's audio while the turn is spoken. A background request without an
// answer has the messages before the turn and the stretches of the turn that no longer change
// (HearingFacts::ahead). The answer's request finds their results in the cache and processes only
// the rest of the turn. One request at a time; new stretches wait for the next request. The
// destructor ends all work. One thread, except for `wake`.
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

/// Returns how many of a growing recording's `samples` (at kHearingRate) lie in stretches that no
/// longer change, including the samples that must follow a stretch. 0 if no stretch is final.
size_t heard_for_good(const std::optional<HearingFacts::Stretches>& stretches, size_t samples);

class HearingAhead {
 public:
  /// `question` returns the request for an answer to the turn so far.
  HearingAhead(std::shared_ptr<Backend> hearer, uint64_t client, PostTask post,
               std::function<BeginAnswer()> question, std::function<void()> wake);
  ~HearingAhead();
  HearingAhead(const HearingAhead&) = delete;
  HearingAhead& operator=(const HearingAhead&) = delete;

  /// Records that another stretch of the turn is complete.
  void hear();
  /// Processes new results; returns false if no result was new.
  bool pump();
  /// Call it when the turn has ended. Raises a running request to normal priority if the answer
  /// needs its results; otherwise cancels the request.
  void finish();
  /// Returns a function that reports whether the running request still runs. First ends the running
  /// request, unless `body` continues its messages and recording.
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
  bool more_ = false;  // another stretch waits for the next request
  std::shared_ptr<ChatCheck> check_;
  std::shared_ptr<Ending> ending_;
  std::optional<RequestId> running_;
  Question heard_;  // the audio of the request that is checked or runs
};

}  // namespace syrinx
