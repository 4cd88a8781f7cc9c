// The state of a recording at the language model: rows of tokens that wait, the keys and values of
// past tokens, and text that may still be dropped. Each step yields an id: text, no text, the mark
// before a word, or the end. A recording goes on after the end id, as in vLLM's realtime server,
// but text after an end id in the silence that follows a recording is dropped, as by transformers'
// generate(). So text after an end id waits until it is known where that id was. Other text is
// final at once. Made on the caller's thread, then used by one thread at a time. H: width.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "families/voxtral_realtime/config.h"
#include "model/request.h"
#include "model/sequence.h"
#include "nn/stream_decoder.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::voxtral_realtime {

/// The task of transcribing a recording whose samples arrive one after another.
struct Hearing : FamilyTask {
  int delay = 6;        ///< tokens by which the text lags, 1 to ModelConfig::kMostDelay
  bool scores = false;  ///< whether tokens are sent with their log-probabilities
};

/// The sequence of a recording.
class Transcription : public Sequence {
 public:
  /// `config` and `words` must outlive this object. `norms` [L, H]: those of the task's delay.
  Transcription(const ModelConfig& config, const Tokenizer& words, StreamKv kv, Tensor norms,
                const Hearing& task);

  /// The rows [count, H] of the next step: those of the prompt, or one. No rows are left if
  /// `count` is 0.
  struct Rows {
    const float* heard = nullptr;
    int64_t count = 0;
  };
  Rows rows() const;
  /// Returns the id beside row `i` of rows().
  int32_t id_of(int64_t i) const;
  StreamKv& kv() { return kv_; }
  const View& norms() const { return norms_; }
  int delay() const { return task_.delay; }

  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kSteps; }
  bool ready() const override { return have_ >= next() || closed_; }
  int scores() const override { return task_.scores ? 0 : -1; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  Status take(int port, const Frames& frames) override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  static constexpr int kSteps = 64;  // steps of a segment; the number of segments is not limited

 private:
  struct Held {
    ScoredToken token;
    int64_t end = -1;  // row of the last end before it; negative: none
  };
  /// Returns the number of rows after the next step.
  int64_t next() const { return at_ == 0 ? config_.prompt(task_.delay) : at_ + 1; }
  void write(int32_t id, const StepOutput& out);
  void release(StepOutput& out);
  void forget();

  const ModelConfig& config_;
  const Tokenizer& words_;
  const Hearing task_;
  SampleParams sampling_;
  StreamKv kv_;
  const Tensor norms_;
  int32_t last_ = 0;
  std::vector<float> rows_;  // rows [dropped_, have_) of the recording
  int64_t dropped_ = 0, have_ = 0, at_ = 0;
  bool closed_ = false;     // no more rows will arrive
  int steps_ = 0;           // number of steps of this segment
  int64_t end_ = -1;        // row of the last end; negative: none
  double said_s_ = 0;       // second at which the last word ended
  std::deque<Held> held_;   // tokens that are not sent yet
  bool begun_ = false;      // whether text was sent
  std::string unfinished_;  // bytes of an incomplete character
};

}  // namespace syrinx::voxtral_realtime
