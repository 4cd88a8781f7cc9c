// A request for an answer in a conversation, or for a transcript. Words come first: stream 0 is
// sampled, and the other streams are pads. If the words are also spoken, a segment of speech
// follows, whose prompt ends with the words (Verdict::kNextSegment). Made on the caller's thread,
// then used by the engine's thread only. S: streams.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/llm/answer_text.h"
#include "families/opuslm/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::opuslm {

/// The task of transcribing a recording. The recording is that of the request, or frames [T, S],
/// each of which has a unit and S - 1 codes.
struct Hearing : FamilyTask {
  Hearing() : FamilyTask("opuslm") {}
  std::vector<int32_t> frames;
};

/// Facts about a recording that is not encoded yet.
struct Heard {
  int64_t samples = 0;  ///< number of samples at 16 kHz
  int64_t frames = 0;
};

/// The sequence of an answer or a transcript.
class Answer : public Sequence {
 public:
  /// `config`, `spoken` and `prompter` must outlive the sequence. `script`: the script of the
  /// answer's speech; if it is an Error, the request is refused.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config,
                                                const SpokenModel& spoken, const Prompter& prompter,
                                                Result<std::unique_ptr<SpokenScript>> script,
                                                const SpeechRequest& request,
                                                std::vector<Heard> heard);

  /// The input port for encoded recordings, whose rows have S numbers: a unit and codes.
  static constexpr int kHearing = 1;
  const std::vector<Heard>& heard() const { return heard_; }

  int prompt_rows() const override { return prompt_.size(); }
  int max_steps() const override;
  int known_rows() const override { return static_cast<int>(rows_.known()); }
  bool ready() const override { return known_rows() == prompt_rows(); }
  std::optional<float> guidance() const override { return guidance_; }
  /// Speech has guidance; words do not.
  float step_guidance(int) const override { return speaking_ ? guidance_.value_or(1.f) : 1.f; }
  /// Returns the ids of stream 0 in the delay pattern.
  std::span<const int32_t> prompt_ids() const override { return prompt_.written(); }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override { return speaking_ ? speech_ : words_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override { return script_->history(steps_, k); }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  /// Writes the S ids of each row. In a companion's prompt and words, all ids are pads.
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  Answer(const ModelConfig& config, const SpokenModel& spoken, const Prompter& prompter,
         std::unique_ptr<SpokenScript> script, const SpeechRequest& request,
         std::vector<Heard> heard);
  Status begin(const SpeechRequest& request);
  Result<Rows> conversation(const SpeechRequest& request) const;
  Result<Rows> recognition(const SpeechRequest& request) const;
  void begin_phase(Rows rows, bool speaking);
  void row(int pos, bool companion, std::span<int32_t> ids) const;
  Verdict write(int32_t choice, StepOutput& out);
  void forget_stop();
  Verdict end_words();
  Verdict speak(std::span<const int32_t> codes, StepOutput& out);

  const ModelConfig& config_;
  const SpokenModel& spoken_;
  const Prompter& prompter_;
  const std::unique_ptr<SpokenScript> script_;
  const SampleParams speech_, words_;
  const std::optional<float> guidance_;
  const int max_frames_, max_tokens_;
  const bool ignore_stop_;
  const bool aloud_;                // speak the words after they are written
  const std::vector<Heard> heard_;  // recordings of the request

  llm::AnswerText written_;
  std::vector<int32_t> said_;  // ids of the words of the answer
  bool cut_ = false;  // the words were cut, which is reported even if the speech ends itself
  bool speaking_ = false;
  Rows rows_;             // rows of the prompt
  Prompt prompt_;         // `rows_` in the delay pattern
  DelayedStreams steps_;  // steps of speech, as choices instead of ids
};

}  // namespace syrinx::opuslm
