// One request, or of a reading one segment of the text after another. An answer is parts of one
// sequence, words or speech, a turn before each: <|assistant|> and the part's kind. Its first part
// is words, and where it is to be heard the second is speech, whatever the model would say. A part
// that ends in kEndPart is followed by another, of the kind that the model finds likelier; each of
// those is a segment of the engine, whose prompt is all that was said before and whose first step
// is that choice. In words and turns only stream 0 is drawn, the others are pads; in speech code s
// of a frame comes s steps late, and the model fills what is before and behind. Only speech is
// guided: all of the companion's rows before are pads, but for the kind of that part. A part that
// does not end is cut, and so is what the request is told to have ended by, whatever comes behind
// it. Made on the caller's thread, then touched by one thread at a time. S streams, H width.
// Source: espnet:espnet2/speechlm/model/speechlm/lm/parallel.py (inference).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/bagpiper/prompter.h"
#include "families/hearing/heard.h"
#include "families/llm/answer_text.h"
#include "families/llm/heard_rows.h"
#include "model/delay.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/segment_queue.h"

namespace syrinx::bagpiper {

class State : public Sequence, public Hearer {
 public:
  static constexpr int kHearing = 1;  ///< input port of the tower's rows
  static constexpr int kLeastSpeech = 50, kMostSpeech = 2048, kMostWords = 2048;  ///< steps

  /// `heard`: the request's recordings.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request,
                                                std::vector<Heard> heard);

  int prompt_rows() const override;
  int heard_rows(int rows) const override { return rows_.before(rows); }
  int max_steps() const override { return max_steps_; }
  bool ready() const override { return !prompt_.empty() && rows_.complete(); }
  int known_rows() const override;
  std::optional<float> guidance() const override { return guidance_; }
  float step_guidance(int) const override;
  /// Stream 0; Prompter::kHeardRow where a row of a recording stands.
  std::span<const int32_t> prompt_ids() const override { return prompt_; }
  /// Rows from the first recording on have no keys.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override;
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  Status take(int port, const Frames& frames) override;

  std::span<const Heard> heard() const override { return heard_; }
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  enum class Phase { kWords, kTurn, kSpeech };

  State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request,
        std::vector<Heard> heard);
  void row(int pos, bool companion, std::span<int32_t> ids) const;
  Status begin(const SpeechRequest& request);
  Status take_text(std::string_view text, bool last);
  Status fits(int64_t rows, const char* param) const;
  bool begin_reading();
  void begin_segment(std::vector<int32_t> prompt);
  Verdict write(int32_t id, StepOutput& out);
  Verdict end_words(int32_t id, FinishReason reason);
  Verdict begin_part(int32_t kind);
  Verdict speak(std::span<const int32_t> codes, StepOutput& out);
  Verdict end_speech(int32_t id, FinishReason reason);
  Verdict next_part();
  void remember_part();
  /// Whether speech follows these words, whatever the model would say.
  bool forces_speech() const { return speaks_ && past_.empty(); }
  /// Steps of the speech that may be made now.
  int64_t speech_steps() const;

  const ModelConfig& config_;
  const Prompter& prompter_;
  const std::vector<Heard> heard_;
  const bool chats_, speaks_, ignore_stop_;
  const int max_frames_, max_tokens_;
  const std::string description_;  // of a reading's scenes
  SampleParams words_, speech_, kind_;
  std::optional<float> guidance_;

  SegmentQueue text_;                         // of a reading, not yet ids
  std::deque<std::vector<int32_t>> waiting_;  // prompts of its segments to come
  const std::vector<std::string> stops_;
  std::optional<llm::AnswerText> written_;  // of the part
  bool apart_ = false;                      // there were words before it, and none yet in it

  Phase phase_ = Phase::kWords;
  std::vector<int32_t> prompt_;  // empty while there is nothing to do
  llm::HeardRows rows_;
  std::vector<int32_t> past_;  // behind that: ids [rows, S] of the parts before; -1: none
  std::vector<int32_t> said_;  // ids of words and turns since
  int written_ids_ = 0;        // of all parts
  bool cut_ = false;           // some part was, of any segment
  int most_words_ = 1, most_speech_ = 1, max_steps_ = 1;  // words of all parts together
  int end_ = 1;                                           // rows of all parts, and the prompt's
  DelayedStreams streams_;                                // choices of the speech, not ids
  int64_t frames_before_ = 0;                             // of earlier parts and segments
};

}  // namespace syrinx::bagpiper
