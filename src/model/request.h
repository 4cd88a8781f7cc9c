// What a client asks for, and an AR node's side of that request inside a model family.
// A Sequence is created at admission on the caller's thread and from then on touched by one thread
// at a time: the engine's, the executor that runs a batch with it, or a host thread that prepares
// text for it. Everything that changes while a request runs lives here or in a StreamState; stages
// and pipelines are const after load.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/sample.h"
#include "model/frames.h"
#include "model/voice.h"
#include "text/lexicon.h"
#include "text/saying.h"

namespace syrinx {

/// An earlier turn of a conversation, which a model may hear before it speaks.
struct ContextTurn {
  std::string voice = {};           ///< who spoke, as SpeechRequest::voice
  std::string text = {};            ///< what was said
  std::vector<int32_t> codes = {};  ///< its audio: frames [T, C] of the model's codec
  /// Its audio as VoiceEncoder of the model made it of a recording, instead of `codes`.
  std::shared_ptr<const Voice> recording = nullptr;
};

/// What a flow that makes mels of codes attends to: chunks that are complete, which can be
/// streamed, or all of a part of the text, which is heard when it ends.
enum class FlowMode : uint8_t { kAuto, kCausal, kFull };

/// A conversation that a text model is to answer, as JSON of the shape of OpenAI's chat API: what
/// chat templates are written for.
struct Chat {
  std::string messages;  ///< an array of objects with `role` and `content`
  std::string tools;     ///< an array, or empty
  /// For templates of models that may think before they answer (`enable_thinking`); unset: as the
  /// template does by itself.
  std::optional<bool> thinks = {};
  /// Names of tools: the answer is a call of one of them. Empty: as the model likes.
  /// Refused where PipelineInfo::calls_tools is not set.
  std::vector<std::string> must_call = {};
  /// The answer is one JSON object that follows this JSON schema; empty: any text. Refused where
  /// PipelineInfo::writes_json is not set.
  std::string schema = {};
};

/// An answer that the same model gave earlier in a conversation, as it made it: ids of text and of
/// what was heard, in turn.
struct EarlierAnswer {
  std::shared_ptr<const std::vector<int32_t>> ids;
  std::optional<double> heard_s = {};  ///< so much of it was heard; unset: all
};

class InputRows;

/// What a family's own front end asks of its pipeline, in words that only that family has.
struct FamilyTask {
  virtual ~FamilyTask() = default;
};

/// One thing a client wants spoken or written. Empty strings and unset options take the model's
/// defaults.
struct SpeechRequest {
  std::string text = {};   ///< UTF-8; invalid bytes are replaced, never fatal
  bool text_open = false;  ///< more text follows through append_text()
  /// How parts of `text` are said (model/markup.h); in order, apart.
  std::vector<Saying> sayings = {};
  /// From where on `text` is spoken how; in order. Only of a text that is whole.
  std::vector<Delivery> deliveries = {};
  /// How words are said, also those of late text.
  std::shared_ptr<const Lexicon> lexicon = {};
  std::string voice = {};
  /// A voice as data instead of one by name; made by VoiceEncoder of the same family.
  std::shared_ptr<const Voice> voice_data = {};
  /// Several voices at once instead of one; refused where PipelineInfo::mixes is not set.
  std::vector<VoiceShare> mix = {};
  /// Factor, 1: as the model speaks by itself; within PipelineInfo::slowest and fastest.
  float speed = 1;
  /// Semitones above the voice's own; within PipelineInfo::lowest and highest.
  float pitch = 0;
  std::string language = {};  ///< see read_language(); empty: the model decides
  std::string instructions = {};
  /// What was said before, oldest first; refused where PipelineInfo::context is not set.
  std::vector<ContextTurn> context = {};
  /// All text in the prompt instead of word by word beside the audio, where the model has both.
  std::optional<bool> text_in_prompt = {};
  std::optional<float> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<int> top_k = {};
  std::optional<float> guidance =
      {};  ///< scale of classifier-free guidance, where the model uses it
  /// Of the codes after a frame's first, apart from the fields above, where PipelineInfo::inner is.
  std::optional<float> inner_temperature = {}, inner_top_p = {};
  std::optional<int> inner_top_k = {};
  /// Refused where PipelineInfo::flow is not set. kAuto: full where the model was trained with
  /// nothing else and the request is `offline`, otherwise causal.
  FlowMode flow = FlowMode::kAuto;
  bool offline = false;  ///< nobody hears the beginning before the end is made
  /// Degree of emotion, 0 to 2; refused where PipelineInfo::exaggeration is not set.
  std::optional<float> exaggeration = {};
  /// Numbers of the text become words as the model's authors write them; absent: as they do.
  /// Refused where PipelineInfo::spells_numbers is not set.
  std::optional<bool> spell_numbers = {};
  /// Who of a conversation speaks, whatever the voice; -1: as `voice` says. Refused where
  /// PipelineInfo::speaker_numbers is 0.
  int speaker = -1;
  uint64_t seed = 0;
  int max_frames = 0;        ///< 0: a bound derived from the text
  bool ignore_stop = false;  ///< measure with a fixed length: run to max_frames
  bool phone_times = false;  ///< collect PhoneMarks, where PipelineInfo::phone_times is set
  // Of models that write
  std::shared_ptr<const Chat> chat = {};  ///< instead of `text`
  /// What the answer is likely to be like, in whole or in parts; it changes time, never the answer,
  /// unless the next two say so.
  std::string expected = {};
  /// While all of the answer so far is what is expected, its next token is taken if it is among so
  /// many likeliest (top-k verification of a draft). 1: only where it would have been drawn.
  int expected_among = 1;
  /// So many bytes of it the answer begins with, whatever the model thinks of them.
  size_t expected_settled = 0;
  /// An experiment: so many tokens at a time are guessed by Jacobi iteration, each guess from what
  /// the rows of the guesses before yielded, in place of looking them up. 0: none. Time only.
  int jacobi = 0;
  std::vector<std::string> stop = {};  ///< the answer ends before the first of these
  /// What a client said, for the audio parts of `chat`, in their order.
  std::vector<std::shared_ptr<const Recording>> recordings = {};
  /// For the parts of `chat` of the type "answer", in their order; refused where
  /// PipelineInfo::recalls is not set.
  std::vector<EarlierAnswer> answers = {};
  bool text_only = false;        ///< nothing is to be heard of a model that speaks as well
  int max_tokens = 0;            ///< 0: as many as the model has positions for
  int top_logprobs = -1;         ///< >= 0: log-probabilities of each token and of so many others
  int initial_chunk_frames = 0;  ///< of the first chunk to be made audible; 0: the engine decides
  /// Only where nobody else has anything to do: work on suspicion, or offline. It takes no place of
  /// others, costs nobody a deadline, and its pages are the first to be taken.
  bool background = false;
  uint64_t client = 0;  ///< who asks (a hash of key or address), for fairness
  std::shared_ptr<FamilyTask> task =
      {};  ///< instead of everything above but seed, bounds and client
};

/// Why a request ended.
enum class FinishReason { kStop, kLength, kRepetition, kCancelled, kError };
/// "stop", "length", ...; static storage.
const char* finish_reason_name(FinishReason reason);

/// A word of the request's text: bytes [begin, end) start to sound at `frame`.
struct WordMark {
  int64_t begin = 0, end = 0;
  int64_t frame = 0;
};

/// A phone starts to sound at `frame`.
struct PhoneMark {
  std::string_view phone;  ///< ARPAbet in small letters, a 1 after a stressed vowel; static storage
  int64_t frame = 0;
};

/// An id and its log-probability, before temperature and rules.
struct ScoredId {
  int32_t id = -1;
  float logprob = 0;
};

/// Log-probabilities of code 0 of a step: of the id that was drawn, and of the likeliest ones.
struct StepScores {
  ScoredId drawn;
  std::vector<ScoredId> top;  ///< falling
};

/// A token of an answer, for clients that asked for log-probabilities.
struct ScoredToken {
  struct Choice {
    std::string bytes;
    float logprob = 0;
  };
  Choice drawn;
  std::vector<Choice> top;
};

/// What one step added to a request: complete frames, C codes each, in order, text, and marks.
class StepOutput {
 public:
  /// `phones` null: nobody wants them. `scores`: of this step, where the sequence asked for them.
  /// `values`: of this step, ArTraits::values numbers. `rows` takes what row() is given.
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
  /// What ArStage::values() made of the step; valid during advance().
  std::span<const float> values() const { return values_; }
  /// For the edges of ids.
  void id(int32_t id) { ids_.push_back(id); }
  std::span<const int32_t> ids() const { return ids_; }
  /// The next id of an answer that a later request may bring back (EarlierAnswer).
  void answer_id(int32_t id) { answer_ids_.push_back(id); }
  std::span<const int32_t> answer_ids() const { return answer_ids_; }
  /// UTF-8, whole characters.
  void text(std::string_view piece) { text_ += piece; }
  void token(ScoredToken token) { tokens_.push_back(std::move(token)); }
  /// What text() and token() were given.
  const std::string& written() const { return text_; }
  std::span<const ScoredToken> tokens() const { return tokens_; }
  void frame(std::span<const int32_t> codes) {
    codes_.insert(codes_.end(), codes.begin(), codes.end());
  }
  /// A frame of the node's edge of rows, of stages with ArTraits::values.
  void row(std::span<const float> row) {
    if (rows_ != nullptr) rows_->insert(rows_->end(), row.begin(), row.end());
  }
  void word(const WordMark& mark) { words_.push_back(mark); }
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
};

/// What a request does after a step.
struct Verdict {
  enum Next {
    kContinue,
    kFinished,
    kNextSegment,  ///< positions begin again at 0 with a new prompt; the chunk stages go on
  };
  Next next = kContinue;
  FinishReason reason = FinishReason::kStop;
  /// With kNextSegment: so many leading rows of the new prompt, and of the companion's, are fed
  /// what the same positions were fed in the segment before, so what is cached of them stays. No
  /// stage may tap them.
  int kept = 0;
  int companion_kept = kept;  ///< of the companion's, where those are fewer
  /// With kNextSegment: frames from here on are another stream. The chunk stages that it feeds end
  /// theirs and begin new ones, and the next step waits until the client has all that they make of
  /// the old ones: what is written then comes behind it.
  bool new_streams = false;
};

/// An AR node's side of one request. The rows that an AR stage is fed are numbered by position:
/// [0, prompt_rows()) is the prompt of the current segment; row prompt_rows() + t is made from the
/// codes of step t. The state must be able to make the input of any of them again, because the
/// engine may drop a cache and recompute it.
class Sequence {
 public:
  virtual ~Sequence() = default;

  /// Rows of the current segment's prompt, at least 1. Constant within a segment.
  virtual int prompt_rows() const = 0;
  /// Of the first `rows` of them, those of recordings.
  virtual int heard_rows(int /*rows*/) const { return 0; }
  /// Steps that the current segment may take at most. The last of them ends the request (kLength)
  /// unless its advance() begins the next segment, as it should where text waits.
  virtual int max_steps() const = 0;
  /// Whether the next step can be taken now; false while text to speak has not arrived.
  virtual bool ready() const { return true; }

  /// While ready() says no before the first step of a segment: leading rows of its prompt that are
  /// complete and stay as they are, and so may be run already. Never falls.
  virtual int known_rows() const { return 0; }

  /// Scale s of classifier-free guidance: codes are drawn from u + s (c - u), where c are the
  /// sequence's logits and u its companion's. Unset or 1: no companion. Constant.
  virtual std::optional<float> guidance() const { return std::nullopt; }
  /// The scale of code k of the next step, where there is a companion; 1: this code is not guided.
  /// While no code of a step is, the companion's rows do not fall due: it catches up when one is.
  virtual float step_guidance(int /*k*/) const { return guidance().value_or(1); }
  /// Rows of the companion's prompt, at least 1. Constant within a segment.
  virtual int companion_rows() const { return prompt_rows(); }

  /// Writes what the rows from position `first` on are made of, as many as `out` has. All of them
  /// are rows of the prompt or of steps that were taken. Allocates nothing.
  virtual void rows(int first, bool companion, InputRows& out) const;

  /// Appends one key for each leading row of the prompt whose cache may be shared with other
  /// requests: rows with the same keys before and at them must be fed the same input. A token id is
  /// its own key; a vector's is a hash of its bytes. Fewer keys than rows, or none, are fine.
  virtual void prefix_keys(bool /*companion*/, std::vector<uint64_t>& /*keys*/) const {}
  /// The same for rows behind the prompt, when it has a key for each of its rows: of the sequence,
  /// where a later prompt may begin with what was generated, as conversations do; of the companion,
  /// which others' companions may be fed as well before the first step that is guided.
  virtual void step_keys(bool /*companion*/, std::vector<uint64_t>& /*keys*/) const {}

  /// Token ids of the current segment's prompt, for comparing with an original implementation;
  /// empty where a prompt is not made of ids.
  virtual std::span<const int32_t> prompt_ids() const { return {}; }

  /// Whether the node tells the row that its stage taps at position `pos` of this segment to its
  /// edges of rows. Such rows are told once, in order, and are never taken from another request's
  /// cache: prefix_keys() must end before the first of them.
  virtual bool tapped(int /*pos*/) const { return false; }

  /// How many log-probabilities each step is to come with (StepScores::top); -1: none. Constant.
  virtual int scores() const { return -1; }

  /// How code k of the next step is sampled. Valid until the next advance().
  virtual const SampleParams& sampling(int k) const = 0;
  virtual SampleRule rule(int k) const = 0;
  /// Codes k of the steps so far, oldest first, for the repetition penalty.
  virtual std::span<const int32_t> history(int /*k*/) const { return {}; }

  /// Guesses of code 0 of the next steps, oldest first, where the stage can run them
  /// (ArTraits::drafts): the rows that they would make are run along with what is due, and the
  /// engine keeps the steps as far as the sampled codes are the guesses. So they change time, never
  /// codes. Steps that may be guessed share sampling(0). Valid until the next advance().
  virtual std::span<const int32_t> draft() const { return {}; }
  /// rule(0) of the step behind so many guesses, once they have come true.
  virtual SampleRule drafted_rule(int /*guesses*/) const { return rule(0); }
  /// history(0) as it will be when so many of the guesses have come true.
  virtual std::span<const int32_t> drafted_history(int /*guesses*/) const { return history(0); }

  /// After the advance() of a step that was guessed wrong: what the rows of that guess and of those
  /// behind it yielded, which are no steps. May change draft().
  virtual void missed(std::span<const int32_t> /*codes*/) {}

  /// Takes the sampled codes of a step (one per ArTraits::vocab), emits what became complete.
  virtual Verdict advance(std::span<const int32_t> codes, StepOutput& out) = 0;

  /// More text of an open request; `last` closes it. May take its time (tokenizers, phonemes): it
  /// runs on a host thread, in no batch. An Error fails the request.
  virtual Status append_text(std::string_view text, bool last);

  /// Frames from another node of the graph, at input port `port`. Moves them, nothing slow. An
  /// Error fails the request.
  virtual Status take(int port, const Frames& frames);

  /// What the family made, where something stands around it.
  virtual const Sequence& here() const { return *this; }
};

}  // namespace syrinx
