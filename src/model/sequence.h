// The state of a request at an AR node, made by a model family, and the output of its steps. A
// Sequence is created at admission on the caller's thread. Later, one thread at a time uses it: the
// engine's, the executor that runs a batch with it, or a host thread that prepares text for it. A
// Sequence or a StreamState contains everything that changes while a request runs. Stages and
// pipelines are const after load.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/sample.h"
#include "model/frames.h"

namespace syrinx {

class InputRows;

/// The reason why a request ended.
enum class FinishReason { kStop, kLength, kRepetition, kCancelled, kError };
/// Returns the reason as a word: "stop", "length", ...; static storage.
const char* finish_reason_name(FinishReason reason);

/// A word of the request's text: the bytes [begin, end) begin to sound at `frame`.
struct WordMark {
  int64_t begin = 0, end = 0;
  int64_t frame = 0;
};

/// A phone that begins to sound at `frame`.
struct PhoneMark {
  /// ARPAbet in small letters, with a 1 after a stressed vowel; static storage
  std::string_view phone;
  int64_t frame = 0;
};

/// An id and its log-probability, computed before temperature and rules.
struct ScoredId {
  int32_t id = -1;
  float logprob = 0;
};

/// Log-probabilities of code 0 of a step: for the drawn id, and for the likeliest ids.
struct StepScores {
  ScoredId drawn;
  std::vector<ScoredId> top;  ///< the likeliest id first
};

/// A token of an answer, for clients that asked for log-probabilities.
struct ScoredToken {
  struct Choice {
    std::string bytes;
    float logprob = 0;
  };
  Choice drawn;
  std::vector<Choice> top;
  double start_s = -1, end_s = -1;  ///< seconds in a transcribed recording; negative: unknown
};

/// The output of one step for a request: complete frames of C codes each, in order, text and marks.
class StepOutput {
 public:
  /// `phones` is null if the client requests none. `scores`: of this step, if the sequence requests
  /// them. `values`: ArTraits::values numbers of this step. row() appends to `rows`.
  StepOutput(std::vector<int32_t>& codes, std::vector<WordMark>& words,
             std::vector<PhoneMark>* phones = nullptr, const StepScores* scores = nullptr,
             std::span<const float> values = {}, std::vector<float>* rows = nullptr)
      : codes_(codes),
        words_(words),
        phones_(phones),
        scores_(scores),
        values_(values),
        rows_(rows) {}
  const StepScores* scores() const { return scores_; }
  /// Returns the values that ArStage::values() made for the step. Valid during advance().
  std::span<const float> values() const { return values_; }
  /// Sends an id along the node's edge of ids.
  void id(int32_t id) { ids_.push_back(id); }
  std::span<const int32_t> ids() const { return ids_; }
  /// Adds the next id of an answer that a later request may send back (EarlierAnswer).
  void answer_id(int32_t id) { answer_ids_.push_back(id); }
  std::span<const int32_t> answer_ids() const { return answer_ids_; }
  /// Adds text in UTF-8, only whole characters.
  void text(std::string_view piece) { text_ += piece; }
  void token(ScoredToken token) { tokens_.push_back(std::move(token)); }
  /// Returns the text and tokens that text() and token() collected.
  const std::string& written() const { return text_; }
  std::span<const ScoredToken> tokens() const { return tokens_; }
  void frame(std::span<const int32_t> codes) {
    codes_.insert(codes_.end(), codes.begin(), codes.end());
  }
  /// Sends a frame along the node's edge of rows. Only for stages with ArTraits::values.
  void row(std::span<const float> row) {
    if (rows_ != nullptr) rows_->insert(rows_->end(), row.begin(), row.end());
  }
  void word(const WordMark& mark) { words_.push_back(mark); }
  /// Adds a warning about the text for the client's user, as ASCII without a full stop.
  void warning(std::string text) { warnings_.push_back(std::move(text)); }
  std::span<const std::string> warnings() const { return warnings_; }
  void phone(const PhoneMark& mark) {
    if (phones_ != nullptr) phones_->push_back(mark);
  }

 private:
  std::vector<int32_t>& codes_;
  std::vector<WordMark>& words_;
  std::vector<PhoneMark>* phones_;
  const StepScores* scores_;
  std::span<const float> values_;
  std::vector<float>* rows_;
  std::string text_;
  std::vector<ScoredToken> tokens_;
  std::vector<int32_t> ids_, answer_ids_;
  std::vector<std::string> warnings_;
};

/// The engine's next action for the request after a step.
struct Verdict {
  enum Next {
    kContinue,
    kFinished,
    kNextSegment,  ///< a new prompt begins at position 0; the streams of the chunk stages continue
  };
  Next next = kContinue;
  FinishReason reason = FinishReason::kStop;
  /// With kNextSegment: the number of first rows of the new prompt whose inputs equal the inputs at
  /// the same positions of the previous segment. The cache of these rows is kept. They must not be
  /// tapped.
  int kept = 0;
  int companion_kept = kept;  ///< the same number for the prompt of the companion
  /// With kNextSegment: later frames belong to new streams. The chunk stages after the node end
  /// their streams and begin new ones. The next step waits until the client has all audio of the
  /// old streams, so later text follows that audio.
  bool new_streams = false;
};

/// The state of one request at one AR node. Input rows are numbered by position. Rows [0,
/// prompt_rows()) are the prompt of the current segment. Row prompt_rows() + t is made from the
/// codes of step t. The state must be able to write any row again, because the engine may drop a
/// cache and compute it again.
class Sequence {
 public:
  virtual ~Sequence() = default;

  /// Returns the number of rows of the current segment's prompt, at least 1. Constant in a segment.
  virtual int prompt_rows() const = 0;
  /// Returns how many of the first `rows` prompt rows represent recordings.
  virtual int heard_rows(int /*rows*/) const { return 0; }
  /// Returns the largest number of steps of the current segment. The last step ends the request
  /// (kLength) unless its advance() begins the next segment, as it must while text is left.
  virtual int max_steps() const = 0;
  /// Returns whether the next step can run, i.e. whether its text has arrived.
  virtual bool ready() const { return true; }

  /// Returns how many first rows of the prompt are final and may run already. Called while ready()
  /// is false before the first step of a segment. The number never decreases.
  virtual int known_rows() const { return 0; }

  /// Returns the scale s of classifier-free guidance: codes are drawn from u + s (c - u). c: logits
  /// of the sequence; u: logits of its companion. Unset or 1: no companion. Constant.
  virtual std::optional<float> guidance() const { return std::nullopt; }
  /// Returns the scale of code k of the next step, if the sequence has a companion. With 1, the
  /// code is not guided. The companion's rows, also those of earlier steps, run only when a code is
  /// guided.
  virtual float step_guidance(int /*k*/) const { return guidance().value_or(1); }
  /// Returns the number of rows of the companion's prompt, at least 1. Constant in a segment.
  virtual int companion_rows() const { return prompt_rows(); }

  /// Fills `out` with the rows from position `first` on. These rows belong to the prompt or to
  /// steps that have run. Allocates nothing.
  virtual void rows(int first, bool companion, InputRows& out) const;

  /// Appends one key for each row at the start of the prompt that other requests may share. If all
  /// keys up to a row are equal, the inputs up to that row must be equal. The key of a token is its
  /// id, that of a vector a hash of its bytes. Keys may cover fewer rows than the prompt, or none.
  virtual void prefix_keys(bool /*companion*/, std::vector<uint64_t>& /*keys*/) const {}
  /// Appends keys, as prefix_keys() does, for rows after the prompt. Called only if every row of
  /// the prompt has a key. Sequence: a later prompt of a conversation may begin with the generated
  /// rows. Companion: other companions may have equal rows before their first guided step.
  virtual void step_keys(bool /*companion*/, std::vector<uint64_t>& /*keys*/) const {}

  /// Returns the token ids of the current segment's prompt, to compare with an original
  /// implementation. Empty if the prompt does not consist of ids.
  virtual std::span<const int32_t> prompt_ids() const { return {}; }

  /// Returns whether the tapped row at position `pos` of this segment is sent along the node's edge
  /// of rows. Such rows are sent once, in order, and are always computed: prefix_keys() must end
  /// before the first of them.
  virtual bool tapped(int /*pos*/) const { return false; }

  /// Returns how many log-probabilities each step yields (StepScores::top); -1: none. Constant.
  virtual int scores() const { return -1; }

  /// Returns the sampling parameters of code k of the next step. Valid until the next advance().
  virtual const SampleParams& sampling(int k) const = 0;
  virtual SampleRule rule(int k) const = 0;
  /// Returns code k of each step so far, oldest first, for the repetition penalty.
  virtual std::span<const int32_t> history(int /*k*/) const { return {}; }

  /// Returns guesses of code 0 of the next steps, oldest first, if the stage can run guesses
  /// (ArTraits::drafts). The rows of the guesses run with the row that is due. The engine keeps the
  /// steps up to the first sampled code that differs from its guess. Guesses change the time, never
  /// the codes. Guessed steps share sampling(0). Valid until the next advance().
  virtual std::span<const int32_t> draft() const { return {}; }
  /// Returns rule(0) of the step after the first `guesses` guesses, if these are right.
  virtual SampleRule drafted_rule(int /*guesses*/) const { return rule(0); }
  /// Returns history(0) after the first `guesses` guesses, if these are right.
  virtual std::span<const int32_t> drafted_history(int /*guesses*/) const { return history(0); }

  /// Receives the codes that the rows of a wrong guess and of later guesses yielded; these are not
  /// steps. Called after advance() of the step with the wrong guess. May change draft().
  virtual void missed(std::span<const int32_t> /*codes*/) {}

  /// Processes the sampled codes of a step (one per ArTraits::vocab). Writes to `out` the frames,
  /// text and marks that these codes complete.
  virtual Verdict advance(std::span<const int32_t> codes, StepOutput& out) = 0;

  /// Adds text to an open request; `last` closes it. May be slow (tokenizers, phonemes): it runs on
  /// a host thread, while no batch has the sequence. An Error fails the request.
  virtual Status append_text(std::string_view text, bool last);

  /// Receives frames from another node of the graph at input port `port`. Must be fast. An Error
  /// fails the request.
  virtual Status take(int port, const Frames& frames);
  /// Returns how many frames from take() wait for the steps that use them up. While the sequence
  /// has a window of them (Edge::window) and is ready(), the node that sends them is not planned. 0
  /// if steps need all frames together, e.g. as the rows of a prompt.
  virtual int64_t unused_frames() const { return 0; }

  /// Returns the family's own sequence, if this sequence wraps it.
  virtual const Sequence& here() const { return *this; }
};

}  // namespace syrinx
