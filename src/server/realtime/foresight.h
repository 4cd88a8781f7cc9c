// An answer of a session that is prepared before the question has ended: drafts of the text model
// in the background (predict/drafting.h), and the newest draft's first sentence, which
// SpeechContexts speaks and holds back. After the question, it supplies the predicted text of the
// answer and decides whether the answer begins with the held sentence. Bounded by DraftRules; one
// draft at a time. Its destructor ends all of its work. One thread, except for `wake`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "predict/counters.h"
#include "predict/drafting.h"
#include "predict/prediction.h"
#include "predict/reflection.h"
#include "server/chat/chat_tools.h"
#include "server/dialects/contexts.h"
#include "server/models/backend.h"
#include "server/realtime/chat_check.h"
#include "server/realtime/realtime_actions.h"
#include "text/sentences.h"

namespace syrinx {

/// The parts that a foresight uses; all of them outlive it.
struct ForesightCast {
  Prediction how = {};
  std::shared_ptr<Backend> writer;
  SpeechContexts* voices = nullptr;  ///< null: answers are not spoken, or the writer does that
  uint64_t client = 0;               ///< as in SpeechRequest
  std::string name;                  ///< name of its contexts, unique in the session
  /// Returns the request for an answer to the question as known now.
  std::function<BeginAnswer()> question;
  /// Returns the voice options for answers of a configuration; an error if they cannot be spoken.
  std::function<std::variant<ContextOptions, ApiError>(const AnswerConfig&)> voice;
  PostTask post;
  std::function<void()> wake;
  std::shared_ptr<PredictionCounters> counters;  ///< may be null
  SentenceOptions sentence = {};                 ///< rules for the end of the first sentence
};

class Foresight {
 public:
  /// seconds of the first sentence's audio that are made ahead
  static constexpr double kAhead_s = 3;

  explicit Foresight(ForesightCast cast);
  ~Foresight();
  Foresight(const Foresight&) = delete;
  Foresight& operator=(const Foresight&) = delete;

  /// Notes that more of the question is known.
  void hear();
  /// Processes new results; returns false if there were none.
  bool pump();
  /// Notes that the voice of a context failed; returns false if the context belongs to another
  /// owner.
  bool voice_failed(const std::string& context);

  /// Notes that the question has ended; no more drafts begin. `request` is the request of the
  /// answer, whose text is passed to wrote() as it comes.
  void begin_answer(SpeechRequest& request);
  /// Completes the request with the predicted text; returns false if that is not ready (`wake` will
  /// be called).
  bool settle(SpeechRequest& request);
  void wrote(std::string_view piece);
  /// Returns whether a spoken sentence is held whose voice matches this configuration.
  bool holds(const AnswerConfig& config) const;
  /// Returns whether the answer begins with the held sentence; nothing: not known yet. `text` is
  /// the spoken text of the answer so far; `all`: it is complete. If true, call release().
  std::optional<bool> met(std::string_view text, bool all) const;
  /// Moves the held sentence to the context `as`. Returns its bytes; nothing if it no longer
  /// exists.
  std::optional<size_t> release(const std::string& as);
  void drop_voice();

 private:
  class Pieces;
  struct Ahead {
    std::string context, text;
    AnswerConfig config;
    double written_s = 0;  ///< time that writing the draft took
  };
  void draft_on();
  void stop_round();
  void prepare(ChatCall& call);
  void reflect(const SpeechRequest& request);
  void drop_reflection();
  bool submit();
  void read(std::string_view piece);
  void meet_sentence(std::string sentence);

  const ForesightCast cast_;
  const uint64_t seed_;  // seed of all drafts and of the answer, so that they draw the same tokens
  bool changed_ = false;
  Drafting drafting_;
  AnswerConfig config_;               // settings of the current round
  std::shared_ptr<ChatCheck> check_;  // the check of the next round's request
  // request of the next round, while the draft before it is judged
  std::optional<SpeechRequest> next_;
  std::shared_ptr<Reflection> reflection_;
  std::shared_ptr<Pieces> pieces_;  // pieces of the draft that runs or is judged
  std::optional<RequestId> reading_;
  double round_s_ = 0;  // start of the round
  std::optional<ToolCallFinder> tools_;
  SentenceStream sentences_;
  std::string said_;  // the part of the draft that is spoken
  bool met_ = false;  // the first sentence of the draft is known
  std::optional<Ahead> ahead_;
  int contexts_ = 0;
  double asked_s_ = 0;  // start of the answer
  bool ready_ = false;
};

}  // namespace syrinx
