// One request: the prefix of the segment being spoken, the columns of codes so far under the delay
// pattern, and the segments still to be spoken. Codebook k of frame f stands in column f + k + 1;
// column 0 is all masks and ends the prompt, and each step makes the next column (model/delay.h).
// Made on the caller's thread, then touched by the engine's thread only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/zonos/conditioner.h"
#include "families/zonos/phonemes.h"
#include "families/zonos/voice.h"
#include "model/delay.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/segment_queue.h"

namespace syrinx::zonos {

/// What a state needs of the model; outlives it.
struct Frontend {
  const ModelConfig& config;
  const PrefixConditioner& conditioner;
  Phonemize phonemize;
  Speakers speakers;
  int64_t speaker_width = 0;  ///< 0: the model takes no speaker
};

class State : public Sequence {
 public:
  /// Checks the request.
  static Result<std::unique_ptr<Sequence>> open(const Frontend& frontend,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return static_cast<int>(prefix_.size()) + 1; }
  int max_steps() const override;
  bool ready() const override { return !phonemes_.empty(); }
  std::optional<float> guidance() const override { return guidance_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  /// The symbols of the text; the rest of the prompt is vectors.
  std::span<const int32_t> prompt_ids() const override { return phonemes_; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override { return streams_.column(k); }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// A row of the prefix has a vector, one of a column codes: ids [codebooks].
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  State(const Frontend& frontend, const SpeechRequest& request);
  Status set_conditions(const SpeechRequest& request);
  Status set_voice(const SpeechRequest& request);
  Status set_language(const std::string& language);
  std::vector<Saying> sayings_in(std::string_view part) const;
  Status take(std::string_view text, bool last);
  bool begin_segment();
  Verdict end_segment();

  const Frontend& frontend_;
  Conditions conditions_;
  std::string language_;
  std::optional<float> guidance_;
  SampleParams sampling_;
  int max_frames_ = 0;
  bool ignore_stop_ = false;
  bool spell_numbers_ = true;

  const std::vector<Saying> sayings_;
  const std::shared_ptr<const Lexicon> lexicon_;
  SegmentQueue text_;                         // not yet phonemes
  std::deque<std::vector<int32_t>> waiting_;  // symbols of the segments to come
  std::vector<int32_t> phonemes_;             // of this one; empty: none
  std::vector<PrefixConditioner::Row> prefix_, companion_;
  DelayedStreams streams_;
  int64_t frames_before_ = 0;  // of earlier segments
};

}  // namespace syrinx::zonos
