// The thinker's side of a request: what it reads (ids, and rows of the audio tower where recordings
// stand), and the answer that it writes, whose ids it tells the talker.
// Made on the caller's thread, then touched by one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "families/llm/answer.h"
#include "families/qwen3_omni/config.h"

namespace syrinx::qwen3_omni {

/// A recording of a request, as the tower is to encode it.
struct Heard {
  int64_t samples = 0;  ///< at 16 kHz
  int64_t rows = 0;     ///< of the tower
  float loudest = 0;    ///< Qwen3AudioTower::loudest()
};

/// What a thinker is to read.
struct ThinkerPrompt {
  std::vector<int32_t> ids;   ///< the audio id stands once for each row of a recording
  std::vector<Heard> heard;   ///< the recordings, in the order of their rows
  std::vector<int32_t> said;  ///< the answer, where the model only reads it aloud
};

class ThinkerSequence : public llm::Answer {
 public:
  static constexpr int kHearing = 1;  ///< input port of the tower's rows

  /// What is given must outlive this, but for the request. `told`: a talker listens.
  ThinkerSequence(const ModelConfig& config, const llm::ModelConfig& shape,
                  const llm::Generation& generation, const Tokenizer& tokenizer,
                  const SpeechRequest& request, ThinkerPrompt prompt, bool told);

  bool ready() const override { return rows_heard() == std::ssize(places_); }
  int known_rows() const override { return ready() ? prompt_rows() : places_[rows_heard()]; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void step_keys(std::vector<uint64_t>& keys) const override;
  std::span<const int32_t> draft() const override;
  /// The talker hears the rows of recordings.
  bool tapped(int pos) const override;
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  std::span<const Heard> heard() const { return heard_; }
  /// The tower's row for the prompt's position `pos`; empty where that is an id.
  std::span<const float> row(int pos) const;

 private:
  struct Untold {
    int32_t id = 0;
    int64_t end = 0;  // of its text
  };
  int64_t rows_heard() const { return std::ssize(rows_) / width_; }

  const ModelConfig& config_;
  const int64_t width_;
  const std::vector<Heard> heard_;
  const std::vector<int32_t> said_;
  const bool told_;
  std::vector<int32_t> places_;  // positions of the tower's rows
  std::vector<float> rows_;      // [rows_heard, width]
  std::deque<Untold> untold_;
};

}  // namespace syrinx::qwen3_omni
