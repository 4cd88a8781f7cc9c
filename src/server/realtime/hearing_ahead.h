// Lets a model process a turn's audio while the turn is spoken. The model gets a request in the
// background with the messages before the turn and the stretches of the turn whose results are
// final (HearingFacts::ahead). The answer's request finds these results in the KV cache. Only one
// request runs at a time; new stretches wait for the next request. The destructor ends all work.
// Only one thread may use it; `wake` is called on any thread.
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

/// Returns how many of a growing recording's `samples` (at kHearingRate) are in stretches whose
/// results are final, and in the gap kAhead_s after them. Returns 0 if no stretch is final.
size_t heard_for_good(const std::optional<HearingFacts::Stretches>& stretches, size_t samples);

class HearingAhead {
 public:
  /// `question` returns the request for an answer to the turn so far.
  HearingAhead(std::shared_ptr<Backend> hearer, uint64_t client, PostTask post,
               std::function<BeginAnswer()> question, std::function<void()> wake);
  ~HearingAhead();
  HearingAhead(const HearingAhead&) = delete;
  HearingAhead& operator=(const HearingAhead&) = delete;

  /// Records that another stretch of the turn is final.
  void hear();
  /// Processes new results; returns false if no result was new.
  bool pump();
  /// Call this when the turn has ended. Raises the running request to normal priority if the answer
  /// can use its results; otherwise cancels the request.
  void finish();
  /// Cancels the running request unless `body` continues its messages and recording. Returns a
  /// function that reports whether that request still runs.
  std::function<bool()> still_running(const JsonIn& body);

 private:
  class Ending;
  /// `messages`: their number. `known`: hash of the tools and of the messages before the turn.
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
  Question heard_;  // question of the newest request
};

}  // namespace syrinx
