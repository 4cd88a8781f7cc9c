// One request: the voice that it hears, its text in segments, and the steps so far. A segment hears
// the voice and the segments before it with their audio, and of more than kMostPast rows only the
// first (families/past.h). Made on the caller's thread, then touched by the engine's thread only. C
// codes a step.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "families/higgs/prompter.h"
#include "model/delay.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/segment_queue.h"

namespace syrinx::higgs {

class State : public Sequence {
 public:
  static constexpr int64_t kMostSteps = 2048;  ///< of a segment: the authors' bound, 82 s
  static constexpr int64_t kMostPast = 1536;   ///< rows of earlier segments: a minute

  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                double frame_rate, const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, static_cast<int>(prompt_.size())); }
  int max_steps() const override;
  bool ready() const override { return !prompt_.empty(); }
  /// Ids of text, and kHeard where the row is a step of codes, as the authors write it.
  std::span<const int32_t> prompt_ids() const override { return prompt_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override { return streams_.column(k).subspan(1); }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// A row is an id of text or C codes: ids [1 + C].
  void rows(int first, bool companion, InputRows& out) const override;

  static constexpr int32_t kHeard = -100;

 private:
  /// A segment that was spoken.
  struct Turn {
    std::vector<int32_t> text, frames;
  };

  State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request);
  Status set_voice(const SpeechRequest& request, double frame_rate);
  Status take(std::string_view text, bool last);
  bool begin_segment();
  int rows_gone_on() const;
  void add_id(int32_t id);
  void add_ids(std::span<const int32_t> ids);
  void add_frames(std::span<const int32_t> frames);
  void add_turn(const Turn& turn);
  int64_t rows_of(const Turn& turn) const;
  Verdict end_segment();
  void row(int pos, std::span<int32_t> slots) const;

  const ModelConfig& config_;
  const Prompter& prompter_;
  SampleParams sampling_;
  int max_frames_ = 0;
  bool ignore_stop_ = false;

  SegmentQueue text_;                         // not yet ids
  bool begun_ = false;                        // of the text: a segment was cut
  std::string lead_;                          // tags of delivery that it begins with
  std::deque<std::vector<int32_t>> waiting_;  // ids of the segments to come

  std::vector<int32_t> reference_;         // words of the voice
  std::vector<int32_t> reference_frames_;  // [T, C]; empty: no voice
  int64_t heard_rows_ = 0;                 // of the prompt, before this segment
  bool goes_on_ = false;                   // the prompt, from all that was said
  std::deque<Turn> past_;
  Turn now_;

  std::vector<int32_t> prompt_;  // empty while there is nothing to speak
  std::vector<int32_t> heard_;   // [*, C], of the prompt's rows of codes
  std::vector<int64_t> place_;   // of each row: in heard_, or -1
  DelayedStreams streams_;
  int64_t frames_before_ = 0;  // of earlier segments
};

}  // namespace syrinx::higgs
