// PredGen's reflection: the text model is shown the question as it is known now and the beginning
// of an old draft, up to the end of each of its first sentences, and asked whether that answers it.
// A sentence is good while "yes" is at least as likely as "no". All are asked at once, so they cost
// a batch; each is the conversation gone on with, so its beginning is in the cache.
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

  /// `request` is the one that is to be made next, with its chat; `draft` what was written before,
  /// all of an answer (`whole`) or its beginning. `over` is called once, from the engine's thread,
  /// when settled() is known; not where it is known when this returns, as for a draft that has no
  /// whole sentence.
  static std::shared_ptr<Reflection> begin(const SpeechRequest& request, const std::string& draft,
                                           bool whole, const SentenceOptions& sentence,
                                           const Submit& submit, std::function<void()> over);

  /// So many bytes of the draft are good; nothing: not known yet. Any thread.
  std::optional<size_t> settled() const;
  /// The requests that ask the question.
  const std::vector<RequestId>& requests() const { return requests_; }
  /// Cancels: the outcome is not needed any more. A call of `over` that has begun may still end.
  /// The requests are the caller's to cancel.
  void forget();

 private:
  class Verdict;
  Reflection() = default;
  std::optional<size_t> settled_now() const;
  void judged(size_t sentence, bool good);

  std::vector<size_t> ends_;  // of the sentences in the draft
  std::vector<RequestId> requests_;
  mutable std::mutex mutex_;
  std::vector<std::optional<bool>> good_;
  std::function<void()> over_;
  bool begun_ = false;  // all have been asked
};

/// The conversation with the beginning of an answer, and whether that answers it.
Chat judging(const Chat& chat, std::string_view beginning);
/// Reads the verdict in a first token with its log-probabilities: "yes" at least as likely as "no".
bool says_yes(const ScoredToken& token);

}  // namespace syrinx
