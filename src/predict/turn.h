// One turn of a conversation: a question that is still being typed or spoken, and its answer, which
// is ready or almost ready when the question ends (PredGen, Li and Grover, 2025). While the
// question arrives, a text model drafts the answer in the background. For each new piece, the model
// checks the last draft after the new prompt (RequestWriting::expected), so that the part that is
// still right costs one step. The draft's first sentence is spoken ahead, unheard. When the
// question has ended, the answer is written as without drafts, token for token, unless another rule
// than greedy keeps more of the draft. If the answer begins with the spoken sentence, that is heard
// at once.
//
// Any thread may call; no call blocks. Drafts are background requests, so that no other request
// misses its deadline.
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

/// Options of a turn.
struct TurnOptions {
  SpeechRequest answer;  ///< options for writing; the turn sets chat, expected and background
  SpeechRequest voice;   ///< options for speaking; its text is the answer
  bool predict = true;
  Prediction prediction = {};
  double ahead_s = 3;  ///< seconds of the first sentence that are spoken ahead
  SentenceOptions sentence = {};
};

/// Figures of prediction in a turn.
struct TurnCounts : DraftCounts {
  int reflections = 0;  ///< times that the model judged its draft
  /// first sentences that were spoken; those of them that were not used
  int spoken_ahead = 0, spoken_in_vain = 0;
  bool ready = false;  ///< the answer began with the sentence that was spoken ahead
};

/// The receiver of the answer. Calls come in order; they must neither block nor call the turn.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void text(std::string_view piece) = 0;
  virtual void audio(std::span<const float> samples) = 0;
  /// The last call. `error`: why the turn failed; without a message, it ended well.
  virtual void done(const Error& error, const TurnCounts& counts) = 0;
  /// Returns seconds of audio that were delivered but not yet taken; any thread.
  virtual double unread_s() const { return 0; }
  /// For monitoring: the present draft, while the question still arrives.
  virtual void draft(std::string_view /*text*/) {}
};

/// One turn; the engine's callbacks share it until it has ended.
class Turn : public std::enable_shared_from_this<Turn> {
 public:
  /// Begins a turn. Throws LoadError unless `writer` answers messages and `speaker` takes late text
  /// (LateText). The turn lives until it has ended.
  static std::shared_ptr<Turn> begin(std::shared_ptr<Service> writer,
                                     std::shared_ptr<Service> speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience);

  /// Begins a turn with services that outlive it.
  static std::shared_ptr<Turn> begin(Service& writer, Service& speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience) {
    const std::shared_ptr<void> none;  // owns nothing
    return begin(std::shared_ptr<Service>(none, &writer), std::shared_ptr<Service>(none, &speaker),
                 std::move(options), std::move(audience));
  }

  /// Drafts for the conversation with the question as far as it is known, which may differ from the
  /// last one in any way.
  void hear(Chat known);
  /// Answers the question, which has ended. Call once.
  void ask(Chat question);
  /// Ends the turn; done() is called with kCancelled if it had not ended.
  void cancel();

 private:
  class Draft;
  class Voice;
  struct Spoken {
    std::string text;
    RequestId id = 0;
    int number = 0;
    std::vector<float> samples;  ///< samples that are not heard yet
    size_t given = 0;            ///< bytes of the answer that this voice has received
    bool heard = false;          ///< the answer begins with this sentence
    bool ended = false;
  };

  Turn(std::shared_ptr<Service> writer, std::shared_ptr<Service> speaker, TurnOptions options,
       std::shared_ptr<Audience> audience);
  // These need the locked mutex:
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
  int round_ = 0;                           // present round; results of others are ignored
  SpeechRequest asking_;                    // request of the present round
  std::shared_ptr<Reflection> reflection_;  // set while the round waits for it
  std::optional<RequestId> reading_;
  std::optional<Chat> next_;  // the question as far as it is known, until it is drafted for
  Drafting drafting_;
  SentenceStream sentences_;
  std::optional<std::string> first_;  // first sentence of this round's answer
  std::unique_ptr<Spoken> spoken_;
  int voices_ = 0;
  bool asked_ = false, written_ = false, over_ = false;
  int reflections_ = 0, spoken_ahead_ = 0, spoken_in_vain_ = 0;
  bool ready_ = false;
};

}  // namespace syrinx
