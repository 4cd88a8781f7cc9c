// Prepares an answer of a session before the question has ended. The text model drafts answers in
// the background, one at a time (predict/drafting.h). SpeechContexts speaks the first sentence of
// the newest draft and holds its audio back. After the question, Foresight adds the draft to the
// answer's request as predicted text, and decides whether the answer begins with the held sentence.
// The destructor ends all work. Only one thread may use it; `wake` is called on any thread.
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

/// The parts that a foresight uses. All of them outlive the foresight.
struct ForesightCast {
  Prediction how = {};
  std::shared_ptr<Backend> writer;
  SpeechContexts* voices = nullptr;  ///< null if answers are not spoken or the writer speaks them
  uint64_t client = 0;               ///< see SpeechRequest
  std::string name;                  ///< prefix of the speech contexts' names; unique in a session
  /// Returns the request for an answer to the known part of the question.
  std::function<BeginAnswer()> question;
  /// Returns the voice options for answers of a configuration, or why they cannot be spoken.
  std::function<std::variant<ContextOptions, ApiError>(const AnswerConfig&)> voice;
  PostTask post;
  std::function<void()> wake;
  std::shared_ptr<PredictionCounters> counters;  ///< may be null
  SentenceOptions sentence = {};                 ///< rules for the end of the first sentence
};

class Foresight {
 public:
  /// Most seconds of the first sentence's audio that are made before the answer begins.
  static constexpr double kAhead_s = 3;

  explicit Foresight(ForesightCast cast);
  ~Foresight();
  Foresight(const Foresight&) = delete;
  Foresight& operator=(const Foresight&) = delete;

  /// Records that more of the question is known. `pauses`: the user pauses, so the question may be
  /// whole, and its draft begins at once.
  void hear(bool pauses = false);
  /// Processes new results; returns false if no result was new.
  bool pump();
  /// Records that speaking ahead in a context has failed. Returns false if this object does not
  /// speak ahead in that context.
  bool voice_failed(const std::string& context);

  /// Records that the question has ended, so that no further draft begins. `request` is the request
  /// of the answer; the caller passes the text of its answer to wrote().
  void begin_answer(SpeechRequest& request);
  /// Adds the predicted text to the request. Returns false if that text is not ready; calls `wake`
  /// when it is.
  bool settle(SpeechRequest& request);
  void wrote(std::string_view piece);
  /// Returns whether a sentence is held that was spoken with the voice of this configuration.
  bool holds(const AnswerConfig& config) const;
  /// Returns whether the answer begins with the held sentence; nothing if this is not known yet.
  /// `text`: what the answer says so far. `all`: the text is complete. If true, call release().
  std::optional<bool> met(std::string_view text, bool all) const;
  /// Moves the held sentence to the context `as`. Returns the length of the sentence's text in
  /// bytes, or nothing if the sentence no longer exists.
  std::optional<size_t> release(const std::string& as);
  void drop_voice();

 private:
  class Pieces;
  struct Ahead {
    std::string context, text;
    AnswerConfig config;
    double written_s = 0;  ///< seconds that writing the draft took
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
  const uint64_t seed_;  // all drafts and the answer use it, so that they draw the same tokens
  bool changed_ = false;
  bool pauses_ = false;  // whether the user paused at the last hear()
  Drafting drafting_;
  AnswerConfig config_;               // settings of the current round
  std::shared_ptr<ChatCheck> check_;  // checks the next round's request
  // Request of the next round, while the earlier draft is judged.
  std::optional<SpeechRequest> next_;
  std::shared_ptr<Reflection> reflection_;
  std::shared_ptr<Pieces> pieces_;  // pieces of the draft that runs or is judged
  std::optional<RequestId> reading_;
  double round_s_ = 0;  // now_s() at the start of the current draft
  std::optional<ToolCallFinder> tools_;
  SentenceStream sentences_;
  std::string said_;  // text of the draft without its tool calls
  bool met_ = false;  // the first sentence of the draft is known
  std::optional<Ahead> ahead_;
  int contexts_ = 0;
  double asked_s_ = 0;  // now_s() in begin_answer(); 0 before
  bool ready_ = false;
};

}  // namespace syrinx
