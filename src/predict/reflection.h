// PredGen's reflection. The text model reads the known part of the question and the beginning of
// the last draft, up to the end of each of its first sentences. Then it is asked whether this
// beginning is an answer. A sentence is good while "yes" is at least as probable as "no". All
// sentences are judged in one batch. Each request continues the conversation, whose beginning is in
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

  /// Begins to judge a draft. `request`: the next request to be made, with its chat; `draft`: the
  /// last draft, which is a whole answer (`whole`) or its beginning. Calls `over` once, on the
  /// engine's thread, when settled() is known, but not if it is already known on return, e.g. for a
  /// draft without a whole sentence.
  static std::shared_ptr<Reflection> begin(const SpeechRequest& request, const std::string& draft,
                                           bool whole, const SentenceOptions& sentence,
                                           const Submit& submit, std::function<void()> over);

  /// Returns how many bytes of the draft are good; nothing: not known yet. Any thread.
  std::optional<size_t> settled() const;
  /// The requests that ask the question.
  const std::vector<RequestId>& requests() const { return requests_; }
  /// Drops the result. A call of `over` that has begun may still run. The caller must cancel the
  /// requests.
  void forget();

 private:
  class Verdict;
  Reflection() = default;
  std::optional<size_t> settled_now() const;
  void judged(size_t sentence, bool good);

  std::vector<size_t> ends_;  // ends of the sentences in the draft
  std::vector<RequestId> requests_;
  mutable std::mutex mutex_;
  std::vector<std::optional<bool>> good_;
  std::function<void()> over_;
  bool begun_ = false;  // all requests were submitted
};

/// Returns the conversation with the beginning of an answer, and the question whether it is an
/// answer.
Chat judging(const Chat& chat, std::string_view beginning);
/// Reads the verdict in a first token with its log-probabilities: "yes" at least as likely as "no".
bool says_yes(const ScoredToken& token);

}  // namespace syrinx
