// PredGen's reflection. For each of the draft's first sentences, the text model reads the known
// part of the question and the draft up to that sentence's end. Then it is asked whether this
// beginning is an answer. A sentence is good while "yes" is at least as probable as "no". All
// sentences are judged in one batch. The requests continue the conversation, whose beginning is in
// the cache.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "text/sentences.h"

namespace syrinx {

class Reflection : public std::enable_shared_from_this<Reflection> {
 public:
  static constexpr size_t kMostSentences = 4;
  using Submit =
      std::function<Result<RequestId>(const SpeechRequest& request, std::shared_ptr<Sink> sink)>;

  /// Begins to judge a draft. `request`: the next request to be made, with its chat. `draft`: the
  /// last draft, a whole answer (`whole`) or its beginning. Calls `over` once, on the engine's
  /// thread, when settled() is known. Does not call it if settled() is already known on return,
  /// e.g. for a draft without a whole sentence.
  static std::shared_ptr<Reflection> begin(const SpeechRequest& request, const std::string& draft,
                                           bool whole, const SentenceOptions& sentence,
                                           const Submit& submit, std::function<void()> over);

  /// Returns how many bytes of the draft are good, or nothing while this is unknown. Any thread.
  std::optional<size_t> settled() const;
  /// Returns the requests that ask whether the beginning is an answer.
  const std::vector<RequestId>& requests() const { return requests_; }
  /// Drops the result. A call of `over` that has already begun may still run. The caller must
  /// cancel the requests.
  void forget();

 private:
  class Verdict;
  Reflection() = default;
  std::optional<size_t> settled_now() const;
  void judged(size_t sentence, bool good);

  std::vector<size_t> ends_;  // positions at which the draft's sentences end
  std::vector<RequestId> requests_;
  mutable std::mutex mutex_;
  std::vector<std::optional<bool>> good_;
  std::function<void()> over_;
  bool begun_ = false;  // whether all requests were submitted
};

/// Returns the conversation with the beginning of an answer, followed by the question whether this
/// beginning is an answer.
Chat judging(const Chat& chat, std::string_view beginning);
/// Returns whether "yes" is at least as likely as "no" among the scores of a first token.
bool says_yes(const ScoredToken& token);

}  // namespace syrinx
