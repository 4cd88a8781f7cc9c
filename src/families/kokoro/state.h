// One request of Kokoro: the utterance that is being spoken, and the text after it. An utterance is
// a segment of one step, whose rows are its phonemes. With the last row, the stage reads all
// phonemes at once and stores its results here. Used by one thread at a time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "families/kokoro/script.h"
#include "families/kokoro/voices.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::kokoro {

/// The most frames of an utterance: one minute.
inline constexpr int kMostFrames = 2400;

class KokoroState : public Sequence {
 public:
  KokoroState(const SpeechRequest& request, const KokoroConfig& config, Script script,
              std::shared_ptr<const VoicePack> voice);
  /// Processes the request's text. Call it once, before all other functions.
  Status begin(const SpeechRequest& request);

  // Returns the seed, for the stages.
  uint64_t seed() const { return seed_; }
  float speed() const { return speed_; }
  const VoicePack& voice() const { return *voice_; }
  const Utterance& utterance() const { return utterance_; }
  /// Returns the row [2 style] of the voice for the utterance.
  std::span<const float> style() const;
  /// Stores the stage's results: features [T, 2 H] and frames [T] of ProsodyJob.
  void read(std::vector<float> features, std::vector<int32_t> frames) {
    features_ = std::move(features);
    frames_ = std::move(frames);
  }

  int prompt_rows() const override { return std::max(1, static_cast<int>(utterance_.ids.size())); }
  int max_steps() const override { return 1; }
  bool ready() const override { return !utterance_.ids.empty(); }
  std::span<const int32_t> prompt_ids() const override { return utterance_.ids; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

 private:
  bool next_utterance();
  void emit(int64_t frames, StepOutput& out);

  const KokoroConfig& config_;
  Script script_;
  std::shared_ptr<const VoicePack> voice_;
  uint64_t seed_ = 0;
  float speed_ = 1;
  SampleParams sampling_;
  bool open_ = false;
  int64_t max_frames_ = 0;         // limit of the request; 0: no limit
  bool repeat_ = false;            // repeat the text until max_frames
  Utterance utterance_;            // current utterance; has no ids until its text has arrived
  std::vector<Utterance> spoken_;  // utterances to repeat, if repeat_
  size_t again_ = 0;
  // Names of phones by id. Empty if the request does not ask for the times of phones.
  std::vector<std::string_view> phone_names_;
  std::vector<float> features_;
  std::vector<int32_t> frames_;
  int64_t frames_before_ = 0;  // frames of earlier utterances
};

}  // namespace syrinx::kokoro
