// One turn of a conversation: a question that is still being typed or spoken, and its answer, which
// is ready or almost ready when the question ends (PredGen, Li and Grover, 2025). While the
// question arrives, a text model drafts the answer in the background. For each new piece, the model
// checks the last draft after the new prompt (RequestWriting::expected), so the part that is still
// right costs one step. The draft's first sentence is spoken ahead, but not yet sent to the client.
// When the question has ended, the answer is written as without drafts, token for token, unless a
// rule other than greedy keeps more of the draft. A draft for the whole question becomes the
// answer. If it begins with the spoken sentence, the client receives this speech at once. Otherwise
// a voice that takes words (LateText::kToken) begins with the first ones, other voices with the
// first sentence.
//
// Any thread may call these functions; no call blocks. Drafts are background requests, so that
// other requests do not miss their deadlines.
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
  SpeechRequest voice;   ///< options for speaking; the turn sets the text
  bool predict = true;
  Prediction prediction = {};
  double ahead_s = 3;  ///< audio of the first sentence to be spoken ahead, in seconds
  SentenceOptions sentence = {};
};

/// Figures of prediction in a turn.
struct TurnCounts : DraftCounts {
  int reflections = 0;  ///< number of times that the model judged its draft
  /// first sentences spoken ahead; the number of these that were not used
  int spoken_ahead = 0, spoken_in_vain = 0;
  bool ready = false;  ///< whether the answer began with the sentence spoken ahead
};

/// The receiver of the answer. Calls arrive in order; they must neither block nor call the turn.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void text(std::string_view piece) = 0;
  virtual void audio(std::span<const float> samples) = 0;
  /// Reports a voice that finds nothing to speak in the answer. The turn goes on without it.
  virtual void unspoken(const Error& /*error*/) {}
  /// The last call. `error` says why the turn failed. It has no message if the turn ended well.
  virtual void done(const Error& error, const TurnCounts& counts) = 0;
  /// Returns the seconds of audio that were delivered but not yet consumed; any thread.
  virtual double unread_s() const { return 0; }
  /// Receives the present draft while the question still arrives; for monitoring.
  virtual void draft(std::string_view /*text*/) {}
};

/// One turn. The engine's callbacks share it until the turn has ended.
class Turn : public std::enable_shared_from_this<Turn> {
 public:
  /// Begins a turn. Throws LoadError unless `writer` answers messages and `speaker` supports late
  /// text (LateText). The turn exists until it has ended.
  static std::shared_ptr<Turn> begin(std::shared_ptr<Service> writer,
                                     std::shared_ptr<Service> speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience);

  /// Begins a turn with services that exist longer than the turn.
  static std::shared_ptr<Turn> begin(Service& writer, Service& speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience) {
    const std::shared_ptr<void> none;  // an owner of nothing: the services outlive the turn
    return begin(std::shared_ptr<Service>(none, &writer), std::shared_ptr<Service>(none, &speaker),
                 std::move(options), std::move(audience));
  }

  /// Drafts an answer to the known part of the question, with a question mark if it may lack one.
  /// It may differ from the last known part in any way. `pauses`: the user pauses, so the question
  /// may be whole, and its draft begins at once.
  void hear(Chat known, bool pauses = false);
  /// Answers the question, which has ended. Only the first call has an effect.
  void ask(Chat question);
  /// Ends the turn. Calls done() with kCancelled if the turn had not ended.
  void cancel();

 private:
  class Draft;
  class Voice;
  /// A known part of the question.
  struct Next {
    Chat chat;          ///< the conversation for which a round would draft
    std::string known;  ///< question_of() the conversation, before drafted_chat()
  };
  struct Spoken {
    std::string text;
    RequestId id = 0;
    int number = 0;
    std::vector<float> samples;  ///< samples that were not yet sent to the client
    size_t given = 0;            ///< bytes of the answer that this voice has received
    bool heard = false;          ///< whether the client receives this sentence
    bool ended = false;
  };

  Turn(std::shared_ptr<Service> writer, std::shared_ptr<Service> speaker, TurnOptions options,
       std::shared_ptr<Audience> audience);
  // The caller must hold mutex_:
  void draft_on();
  bool drafts_for(const Chat& question) const;
  void answer_with_draft();
  void stop_reading();
  void read_on(const Chat& chat, bool background);
  void drop_reflection();
  void judged(int round);
  void submit(size_t settled);
  TurnCounts counts() const;
  void read(int round, std::string_view piece);
  void end_reading(int round, const Outcome& outcome);
  void end_answer();
  bool may_speak() const;
  void meet_text();
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
  int round_ = 0;                           // results of other rounds are ignored
  SpeechRequest asking_;                    // request of the present round
  std::shared_ptr<Reflection> reflection_;  // set while the round waits for the reflection
  std::optional<RequestId> reading_;
  bool whole_ = false;        // whether the model itself ended the text of this round
  std::optional<Next> next_;  // the part of the question that is known, until a round drafts for it
  std::string known_;         // Next::known of the present round
  bool pauses_ = false;       // whether the user paused when next_ arrived
  Drafting drafting_;
  SentenceStream sentences_;
  // First sentence of this round's answer, or the words with which the voice began.
  std::optional<std::string> first_;
  std::unique_ptr<Spoken> spoken_;
  int voices_ = 0;
  bool asked_ = false, written_ = false, over_ = false;
  int reflections_ = 0, spoken_ahead_ = 0, spoken_in_vain_ = 0;
  bool ready_ = false;
};

}  // namespace syrinx
