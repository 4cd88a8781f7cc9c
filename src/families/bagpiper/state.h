// One request: a text that is read aloud in segments, or a conversation that is answered. Both
// consist of parts, of words or of speech. Before each part the model writes a turn: <|assistant|>
// and the kind of the part.
//
// - The first part is words. If the client wants audio, the second part is speech, whatever the
//   model would choose.
// - After a part that ends in kEndPart comes another part, of the likelier kind. For the engine, it
//   is a segment: its prompt is all that came before, and its first step chooses the kind.
// - In words and turns only stream 0 is sampled; the other streams are pads. In speech, code s of a
//   frame comes s steps later. The model also samples the ids that fill a stream before and after
//   its codes (model/delay.h).
// - Only speech has guidance. In the companion, the rows before the speech are pads, except the id
//   of the speech's kind.
// - A part that does not end by itself is cut, and then the request ends with kLength.
//
// Made on the caller's thread, then used by one thread at a time. S: streams. H: width. Source:
// espnet:espnet2/speechlm/model/speechlm/lm/parallel.py (inference).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/bagpiper/part_rows.h"
#include "families/bagpiper/part_text.h"
#include "families/bagpiper/prompter.h"
#include "families/hearing/heard.h"
#include "families/spoken/spoken_model.h"
#include "model/input_rows.h"

namespace syrinx::bagpiper {

/// Returns the settings of speech: sampling, guidance, and how a text is cut.
SpokenModel spoken_model(const ModelConfig& config);

/// Bounds in steps: of words in all parts, of speech in all parts, and of the whole segment.
struct PartBounds {
  int words = 1, speech = 1, steps = 1;
};

class State : public Sequence, public Hearer {
 public:
  static constexpr int kHearing = 1;  ///< input port for the tower's rows
  /// Bounds in steps.
  static constexpr int kLeastSpeech = 50, kMostSpeech = 2048, kMostWords = 2048;

  /// `heard`: recordings of the request. `config`, `spoken` and `prompter` must outlive the
  /// sequence.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config,
                                                const SpokenModel& spoken, const Prompter& prompter,
                                                const SpeechRequest& request,
                                                std::vector<Heard> heard);

  int prompt_rows() const override { return std::max(1, rows_.prompt.size()); }
  int heard_rows(int rows) const override { return rows_.heard.before(rows); }
  int max_steps() const override { return bounds_.steps; }
  bool ready() const override { return !rows_.prompt.empty() && rows_.heard.complete(); }
  int known_rows() const override;
  std::optional<float> guidance() const override { return guidance_; }
  float step_guidance(int) const override;
  /// Returns the ids of stream 0. The id of a recording's row is Prompter::kHeardRow.
  std::span<const int32_t> prompt_ids() const override { return rows_.prompt.written(); }
  /// Appends the keys of the rows up to the first recording. Later rows have no keys.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override {
    rows_.prefix_keys(companion, keys);
  }
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override {
    rows_.step_keys(companion, keys);
  }
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

  State(const ModelConfig& config, const SpokenModel& spoken, const Prompter& prompter,
        const SpeechRequest& request, std::vector<Heard> heard);
  Status begin(const SpeechRequest& request);
  void begin_reading();
  void begin_segment(std::span<const int32_t> prompt);
  Verdict write(int32_t id, StepOutput& out);
  Verdict end_words(int32_t id, FinishReason reason);
  Verdict begin_part(int32_t kind);
  Verdict speak(std::span<const int32_t> codes, StepOutput& out);
  Verdict end_speech(int32_t id, FinishReason reason);
  Verdict next_part();
  /// Returns whether speech must follow these words, even if the model would choose otherwise.
  bool forces_speech() const { return speaks_ && first_part_; }
  /// Returns how many more steps of speech are allowed.
  int64_t speech_steps() const;

  const ModelConfig& config_;
  const Prompter& prompter_;
  const std::vector<Heard> heard_;
  const bool chats_, speaks_, ignore_stop_;
  const int max_frames_, max_tokens_;
  const std::string description_;  // description in the scenes of texts that are read aloud
  const SampleParams words_, speech_, kind_;
  const std::optional<float> guidance_;

  TextPlan text_;  // text to read aloud, in segments that are ids of prompts
  PartText written_;

  Phase phase_ = Phase::kWords;
  bool first_part_ = true;  // the current part is the first part of its segment
  PartRows rows_;
  int written_ids_ = 0;  // number of ids of words in all parts
  bool cut_ = false;     // whether a part of any segment was cut
  PartBounds bounds_;
  int end_ = 1;                // number of rows of all parts and of the prompt
  int64_t frames_before_ = 0;  // number of frames of earlier parts and segments
};

}  // namespace syrinx::bagpiper
