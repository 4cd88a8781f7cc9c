// One request. A reading is a segment of text after another, each with a prompt of its own. An
// answer is a phase of words and then, where it is to be heard, one of speech, whose prompt goes on
// with the words (model/request.h: kNextSegment). In words only stream 0 is drawn, the others are
// pads; in speech code s of a frame comes s steps late (model/delay.h). Made on the caller's
// thread, then touched by the engine's thread only. S streams.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/llm/answer_text.h"
#include "families/opuslm/prompter.h"
#include "model/delay.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/segment_queue.h"

namespace syrinx::opuslm {

/// A recording that is to be written down: the request's, or one given as frames [T, S] of a unit
/// and S - 1 codes each.
struct Hearing : FamilyTask {
  std::vector<int32_t> frames;
};

/// What is known of a recording before it is heard.
struct Heard {
  int64_t samples = 0;  ///< at 16 kHz
  int64_t frames = 0;
};

class State : public Sequence {
 public:
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request,
                                                std::vector<Heard> heard = {});

  /// The port at which what is heard comes in, rows of S numbers: a unit and codes.
  static constexpr int kHearing = 1;
  const std::vector<Heard>& heard() const { return heard_; }

  int prompt_rows() const override;
  int max_steps() const override;
  int known_rows() const override;
  bool ready() const override { return !prompt_.empty() && known_rows() == prompt_rows(); }
  std::optional<float> guidance() const override { return guidance_; }
  /// Words are not guided.
  float step_guidance(int) const override { return speaking_ ? guidance_.value_or(1.f) : 1.f; }
  /// Stream 0, under the delay.
  std::span<const int32_t> prompt_ids() const override { return prompt_ids_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override { return speaking_ ? speech_ : words_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override { return streams_.column(k).subspan(1); }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  Status take(int port, const Frames& frames) override;

  /// The S ids that row `pos` is made of. A companion's prompt is all pads, and so are its words.
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request,
        std::vector<Heard> heard);
  void row(int pos, bool companion, std::span<int32_t> ids) const;
  Status set_voice(const SpeechRequest& request);
  Status begin(const SpeechRequest& request);
  Status begin_task(const SpeechRequest& request);
  Status take_text(std::string_view text, bool last);
  Status fits(int64_t rows, const char* param) const;
  bool begin_reading();
  void begin_phase(Rows rows, bool speaking, int64_t words);
  void set_prompt();
  Verdict write(int32_t choice, StepOutput& out);
  void forget_stop();
  Verdict end_words();
  Verdict end_speech();

  const ModelConfig& config_;
  const Prompter& prompter_;
  SampleParams speech_, words_;
  std::optional<float> guidance_;
  int max_frames_ = 0, max_tokens_ = 0;
  bool ignore_stop_ = false;

  std::vector<int32_t> voice_;                // ids [T, S]; empty: none
  SegmentQueue text_;                         // of a reading, not yet ids
  std::deque<std::vector<int32_t>> waiting_;  // its segments to come
  bool answers_aloud_ = false;                // the words that are written are spoken then
  bool cut_ = false;                          // they were: that is told though speech ends
  llm::AnswerText written_;
  std::vector<int32_t> said_;  // ids of the answer's words

  bool speaking_ = true;
  int64_t phase_words_ = 0;          // that are to be spoken
  const std::vector<Heard> heard_;   // recordings
  Rows rows_;                        // of the prompt
  std::vector<int32_t> prompt_;      // [P, S]; empty while there is nothing to do
  std::vector<int32_t> prompt_ids_;  // [P]
  DelayedStreams streams_;           // choices, not ids
  int64_t frames_before_ = 0;        // of earlier segments
};

}  // namespace syrinx::opuslm
