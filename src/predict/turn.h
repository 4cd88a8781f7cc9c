// One turn of a conversation: a question that is still being typed or spoken, and its answer, which
// is ready, or nearly, when the question ends (PredGen, Li and Grover, 2025). While pieces of the
// question come, a text model drafts the answer in the background; with each piece the draft is run
// again as a guess behind the new prompt (SpeechRequest::expected), so that what still holds costs
// one step; and its first sentence is spoken ahead, unheard. When the question has ended the answer
// is written as if nothing had been drafted, token for token; if it begins with the sentence that
// was spoken, that is heard at once.
//
// Any thread may call; nothing blocks. Drafts are background requests: they cost nobody a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "text/sentences.h"

namespace syrinx {

struct TurnOptions {
  SpeechRequest answer;  ///< its chat is set for each draft; expected and background are the turn's
  SpeechRequest voice;   ///< its text is the answer
  bool predict = true;
  int first_draft = 30;  ///< tokens of the first draft, as in the paper
  int more_draft = 10;   ///< by so many each later one may be longer
  int most_draft = 120;  ///< so that a pause in the question costs little
  double ahead_s = 3;    ///< audio of the first sentence that is made ahead
  SentenceOptions sentence = {};
};

/// What prediction did in a turn.
struct TurnCounts {
  int drafts = 0;
  int drafted_tokens = 0, right_guesses = 0;  ///< written, and taken over from an earlier draft
  int spoken_ahead = 0, spoken_in_vain = 0;   ///< first sentences
  bool ready = false;  ///< the answer began with the sentence that had been spoken
};

/// Who the answer is for. Called in order and must not block, nor call the turn.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void text(std::string_view piece) = 0;
  virtual void audio(std::span<const float> samples) = 0;
  /// The last call. An error, or how both ended.
  virtual void done(const Error& error, const TurnCounts& counts) = 0;
  /// Audio delivered but not yet taken; any thread.
  virtual double unread_s() const { return 0; }
  /// For those who watch: the draft as it stands, while the question goes on.
  virtual void draft(std::string_view /*text*/) {}
};

class Turn : public std::enable_shared_from_this<Turn> {
 public:
  /// `writer` answers messages and `speaker` takes text as it comes (LateText), or throws
  /// LoadError. Both outlive the turn, and it lives until it has ended.
  static std::shared_ptr<Turn> begin(Engine& writer, Engine& speaker, TurnOptions options,
                                     std::shared_ptr<Audience> audience);

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

  Turn(Engine& writer, Engine& speaker, TurnOptions options, std::shared_ptr<Audience> audience);
  // All of these under the mutex.
  void stop_reading();
  void read_on(Chat chat, bool background);
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

  Engine& writer_;
  Engine& speaker_;
  const TurnOptions options_;
  const std::shared_ptr<Audience> audience_;

  mutable std::mutex mutex_;
  int round_ = 0;  // of the reading that counts
  std::optional<RequestId> reading_;
  int tokens_ = 0;      // of the longest draft
  std::string guess_;   // of the answer, from earlier rounds
  std::string answer_;  // of this round
  SentenceStream sentences_;
  std::optional<std::string> first_;  // sentence of this round's answer
  std::optional<Spoken> spoken_;
  int voices_ = 0;
  bool asked_ = false, written_ = false, over_ = false;
  TurnCounts counts_;
};

}  // namespace syrinx
