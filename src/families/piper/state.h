// One request of a Piper voice. Each sentence is a segment of one step. The stage writes the frames
// of a sentence to this object, and advance() sends them. Used by one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "families/piper/phonemes.h"
#include "families/unsaid.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/segment_queue.h"

namespace syrinx::piper {

/// Speaker and options of a request.
struct Manner {
  std::vector<float> embedding;  ///< embedding of the speaker; empty for a voice with one speaker
  std::vector<float> condition;  ///< DurationPredictor::condition() of `embedding`
  float noise_scale = 0, length_scale = 1, noise_w = 0;
};

/// The sequence of a request.
class State : public Sequence {
 public:
  State(const SpeechRequest& request, const PiperConfig& config, SayClauses say, Manner manner);
  /// Processes the first text. Returns an Error if it cannot be spoken.
  Status begin(const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, static_cast<int>(text_.ids.size())); }
  int max_steps() const override { return 1; }
  bool ready() const override { return !text_.ids.empty(); }
  std::span<const int32_t> prompt_ids() const override { return text_.ids; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  // Returns speaker and options, for the stage.
  const Manner& manner() const { return manner_; }
  std::span<const int32_t> ids() const { return text_.ids; }
  uint64_t seed() const { return seed_; }
  /// Returns the number of this sentence in its request. The noise depends on it.
  uint32_t sentence() const { return sentence_; }
  /// The stage's results for this sentence: frames per id [P], priors [P, 2 C] and latents [T, C].
  std::vector<int32_t> durations;
  std::vector<float> prior, frames;

 private:
  Status take_text(std::string_view text, bool last);
  bool next_sentence();

  const PiperConfig& config_;
  SayClauses say_;
  Manner manner_;
  SampleParams sampling_;
  std::vector<Saying> sayings_;
  std::shared_ptr<const Lexicon> lexicon_;
  uint64_t seed_ = 0;
  bool open_ = false, repeat_ = false;
  SentenceStream sentences_;
  std::deque<SpokenText> waiting_;
  std::vector<SpokenText> spoken_;  // sentences to repeat
  SpokenText text_;                 // sentence that is this segment
  UnsaidSymbols unsaid_;
  uint32_t sentence_ = 0;
  int64_t max_frames_ = 0, frames_before_ = 0;
};

}  // namespace syrinx::piper
