// The state of a recording at the language model: rows of frames that wait, the keys and values of
// past steps, and the word that is being written. Each step reads a frame and yields an id: text,
// the end of a word, or no text. Text is final. Made on the caller's thread, then used by one
// thread at a time.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "families/kyutai_stt/config.h"
#include "model/request.h"
#include "model/sequence.h"
#include "nn/stream_decoder.h"
#include "text/tokens/unigram.h"

namespace syrinx::kyutai_stt {

/// The task of transcribing a recording whose samples arrive one after another.
struct Hearing : FamilyTask {
  bool scores = false;  ///< whether tokens are sent with their log-probabilities
};

/// The sequence of a recording.
class Transcription : public Sequence {
 public:
  /// `config` and `words` must outlive this object.
  Transcription(const ModelConfig& config, const Unigram& words, StreamKv kv, bool scores);

  /// Returns the row [H] of the next step. Empty if all rows of the recording were used.
  std::span<const float> row() const;
  StreamKv& kv() { return kv_; }
  /// Returns the id that the next step reads.
  int32_t last() const { return last_; }

  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kSteps; }
  bool ready() const override { return at_ < have_ || closed_; }
  int scores() const override { return scores_ ? 0 : -1; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  Status take(int port, const Frames& frames) override;
  int64_t unused_frames() const override { return std::max<int64_t>(0, have_ - at_); }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  static constexpr int kSteps = 64;  // steps of a segment; the number of segments is not limited

 private:
  void write(int32_t id, StepOutput& out);
  void end_word(StepOutput& out);
  void forget();

  const ModelConfig& config_;
  const Unigram& words_;
  const bool scores_;
  SampleParams sampling_;
  StreamKv kv_;
  int32_t last_;
  std::vector<float> rows_;  // rows [dropped_, have_) of the recording
  int64_t dropped_ = 0, have_ = 0, at_ = 0;
  bool closed_ = false;     // no more rows will arrive
  int steps_ = 0;           // number of steps of this segment
  bool begun_ = false;      // whether text was written
  int64_t word_from_ = -1;  // frame at which the next word begins; negative: at its first id
  int64_t word_to_ = -1;    // frame after the last id of the open word; negative: no word is open
  std::string unfinished_;  // bytes of an incomplete character
};

}  // namespace syrinx::kyutai_stt
