// One turn of a conversation: a question that is still being typed or spoken, and its answer, which
// is ready, or nearly, when the question ends (PredGen, Li and Grover, 2025). While pieces of the
// question come, a text model drafts the answer in the background; with each piece the draft is run
// again as a guess behind the new prompt (RequestWriting::expected), so that what still holds costs
// one step; and its first sentence is spoken ahead, unheard. When the question has ended the answer
// is written as if nothing had been drafted, token for token, unless another rule than greedy lets
// it keep more of the draft; if it begins with the sentence that was spoken, that is heard at once.
//
// Any thread may call; nothing blocks. Drafts are background requests: they cost no request a
// deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "predict/drafting.h"
#include "predict/prediction.h"
#include "predict/reflection.h"
#include "text/sentences.h"

namespace syrinx {

/// How a turn is answered and spoken.
struct TurnOptions {
  SpeechRequest answer;  ///< its chat is set for each draft; expected and background are the turn's
  SpeechRequest voice;   ///< its text is the answer
  bool predict = true;
  Prediction prediction = {};
  double ahead_s = 3;  ///< audio of the first sentence that is made ahead
  SentenceOptions sentence = {};
};

/// Figures of prediction in a turn.
struct TurnCounts : DraftCounts {
  int reflections = 0;                       ///< times that the model was asked about its draft
  int spoken_ahead = 0, spoken_in_vain = 0;  ///< first sentences
  bool ready = false;  ///< the answer began with the sentence that had been spoken
};

/// The receiver of the answer. Called in order and must not block, nor call the turn.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void text(std::string_view piece) = 0;
  virtual void audio(std::span<const float> samples) = 0;
  /// The last call. An error, or how both ended.
  virtual void done(const Error& error, const TurnCounts& counts) = 0;
  /// Audio delivered but not yet taken; any thread.
  virtual double unread_s() const { return 0; }
  /// For monitoring: the draft as it stands, while the question goes on.
  virtual void draft(std::string_view /*text*/) {}
};

/// One turn, shared by the engine's callbacks until it has ended.
class Turn : public std::enable_shared_from_this<Turn> {
 public:
  /// `writer` answers messages and `speaker` takes text as it comes (LateText), or throws
  /// LoadError. The turn lives until it has ended.
  static std::shared_ptr<Turn> begin(std::shared_ptr<Service> writer,
                                     std::shared_ptr<Service> speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience);

  /// Both outlive the turn.
  static std::shared_ptr<Turn> begin(Service& writer, Service& speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience) {
    const std::shared_ptr<void> none;  // owns nothing
    return begin(std::shared_ptr<Service>(none, &writer), std::shared_ptr<Service>(none, &speaker),
                 std::move(options), std::move(audience));
  }

  /// The conversation with the question as far as it is known; it may differ from what was known
  /// before in any way. Drafts.
  void hear(Chat known);
  /// The question has ended: answers. Once.
  void ask(Chat question);
  /// Ends all; done() comes with kCancelled if the turn had not ended.
  void cancel();

 private:
  class Draft;
  class Voice;
  struct Spoken {
    std::string text;
    RequestId id = 0;
    int number = 0;
    std::vector<float> samples;  ///< made and not heard
    size_t given = 0;            ///< bytes of the answer that it has been given
    bool heard = false;          ///< the answer begins with it
    bool ended = false;
  };

  Turn(std::shared_ptr<Service> writer, std::shared_ptr<Service> speaker, TurnOptions options,
       std::shared_ptr<Audience> audience);
  // All of these under the mutex.
  void draft_on();
  void stop_reading();
  void read_on(const Chat& chat, bool background);
  void drop_reflection();
  void judged(int round);
  void submit(size_t settled);
  TurnCounts counts() const;
  void read(int round, std::string_view piece);
  void end_reading(int round, const Outcome& outcome);
  void meet_sentence();
  void give_text();
  void hear_audio(int number, std::span<const float> samples);
  void end_voice(int number, const Outcome& outcome);
  void drop_voice();
  void fail(Error error);
  void end_if_over();
  double unheard_s(int number) const;

  const std::shared_ptr<Service> writer_, speaker_;
  const TurnOptions options_;
  const std::shared_ptr<Audience> audience_;

  mutable std::mutex mutex_;
  int round_ = 0;                           // of the reading that counts
  SpeechRequest asking_;                    // of the round
  std::shared_ptr<Reflection> reflection_;  // while the round waits for it
  std::optional<RequestId> reading_;
  std::optional<Chat> next_;  // the question as it is known, not drafted for yet
  Drafting drafting_;
  SentenceStream sentences_;
  std::optional<std::string> first_;  // sentence of this round's answer
  std::optional<Spoken> spoken_;
  int voices_ = 0;
  bool asked_ = false, written_ = false, over_ = false;
  int reflections_ = 0, spoken_ahead_ = 0, spoken_in_vain_ = 0;
  bool ready_ = false;
};

}  // namespace syrinx
