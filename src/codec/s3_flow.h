// The S3 flow: speech tokens to mel frames by flow matching, in the two forms that its authors use.
// In whole(), attention covers the whole utterance. In the streaming form, open() and run(), a
// token attends to whole chunks of 25 tokens, up to its own chunk. So each chunk is computed once,
// when its tokens and 3 more have arrived; the state keeps what later chunks need. (The original
// runs the whole utterance again for every chunk.) A stream has the same bits for any division into
// calls. Source: CosyVoice:cosyvoice/flow/{flow,flow_matching}.py, streaming=False and True; for
// S3FlowConfig::whole_prompt Step-Audio2:cosyvoice2/flow/flow.py (inference, setup_cache,
// inference_chunk). Const after construction, shared by threads; a state is used by one call at a
// time. P prompt tokens, M mel bands.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/flow_estimator.h"
#include "codec/flow_time.h"
#include "codec/s3_flow_encoder.h"

namespace syrinx {

/// The voice whose recording the flow continues. Immutable; streams share it.
struct S3FlowVoice {
  std::vector<int32_t> tokens;  ///< tokens of the prompt; may be empty
  /// [P * ratio, M]; empty if P is 0. It may have up to `ratio` - 1 further frames. These come
  /// first in the output for speech, and must not be played.
  Tensor mel;
  Tensor speaker;  ///< [M], the projected speaker vector
};

/// Writes M standard normal numbers, from which the solver computes mel frame `frame`. Frames are
/// counted from the beginning of the prompt.
using S3FlowNoise = FunctionRef<void(int64_t frame, std::span<float>)>;

/// State of one stream between calls.
class S3FlowState {
 public:
  /// Returns the number of tokens received so far, including the prompt's tokens.
  int64_t tokens() const { return tokens_; }
  /// Returns a copy of the stream. The two share the estimator's keys and values until one of them
  /// appends to them.
  S3FlowState clone() const;

 private:
  friend class S3Flow;
  S3FlowState(std::shared_ptr<const S3FlowVoice> voice, S3FlowEncoder::State encoder,
              FlowEstimator::State estimator)
      : voice_(std::move(voice)), encoder_(std::move(encoder)), estimator_(std::move(estimator)) {}
  std::shared_ptr<const S3FlowVoice> voice_;
  S3FlowEncoder::State encoder_;
  FlowEstimator::State estimator_;
  int64_t tokens_ = 0;
};

/// The next tokens of a stream, in [0, vocab).
struct S3FlowJob {
  std::span<const int32_t> tokens;
  bool last = false;  ///< no tokens follow
  S3FlowNoise noise;
  S3FlowState* state = nullptr;
  std::vector<float>* mel = nullptr;  ///< gets the frames [.., M], without the prompt's frames
};

/// The encoder and the estimator with their weights, and pages of keys and values for open streams.
class S3Flow {
 public:
  /// `weights` is the scope of the flow. `max_frames`: the limit of mel frames in all open streams
  /// together; a shared prompt counts once. This limit reserves address space, not memory.
  S3Flow(const S3FlowConfig& config, const Weights& weights, WeightType type = WeightType::kF32,
         int64_t max_frames = 1 << 16);

  const S3FlowConfig& config() const { return config_; }
  /// Makes a voice of tokens [P], of mel as in S3FlowVoice, and of `speaker`, the vector that the
  /// speaker encoder computed.
  std::shared_ptr<const S3FlowVoice> voice(std::vector<int32_t> tokens, Tensor mel,
                                           std::span<const float> speaker) const;
  /// Moves encoder and estimator to a GPU. The contexts of later calls must be of the GPU. No
  /// stream may be open.
  void move_to(Device device) {
    encoder_->move_to(device);
    estimator_->move_to(device);
  }
  Device device() const { return estimator_->device(); }
  /// Opens a stream that has received its prompt, and computes all whole chunks of the prompt.
  S3FlowState open(StepContext& ctx, std::shared_ptr<const S3FlowVoice> voice,
                   const S3FlowNoise& noise) const;
  /// Processes the tokens of different streams, and appends the frames that are now final to each
  /// job's mel; for a stream's last job, all remaining frames. A GPU computes chunks of several
  /// streams at once.
  void run(StepContext& ctx, std::span<const S3FlowJob> jobs) const;
  void run(StepContext& ctx, std::span<const int32_t> tokens, bool last, const S3FlowNoise& noise,
           S3FlowState& state, std::vector<float>& mel) const;
  /// Appends the frames of an utterance. Attention covers the whole utterance.
  void whole(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice,
             std::span<const int32_t> tokens, const S3FlowNoise& noise,
             std::vector<float>& mel) const;
  /// Returns how many mel frames the prompt has beyond the frames of its tokens.
  int64_t spare_frames(const S3FlowVoice& voice) const;
  /// Returns how many of a stream's first `tokens` tokens have final frames if more tokens may
  /// follow. These are the tokens of whole chunks whose lookahead has arrived. `tokens` includes
  /// the prompt's tokens, unless the config has whole_prompt.
  int64_t certain(int64_t tokens) const;

  size_t bytes() const { return encoder_->bytes() + estimator_->bytes() + speaker_.bytes(); }
  /// Returns the bytes that an open stream needs for each second of audio.
  size_t bytes_per_second() const;

 private:
  /// The next ready tokens of a job's stream, which are one chunk.
  struct Due {
    const S3FlowJob* job = nullptr;
    int64_t tokens = 0;
  };
  S3FlowState open_whole(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice,
                         const S3FlowNoise& noise) const;
  int64_t ready_tokens(const S3FlowJob& job) const;
  void encode_and_solve(StepContext& ctx, std::span<const Due> due) const;
  void give(const Due& due, const View& given, const View& noise) const;
  void solve(StepContext& ctx, const FlowEstimator::Chunks& chunks, const View& x,
             const View& out) const;

  S3FlowConfig config_;
  FlowSchedule schedule_;
  PackedLinear speaker_;
  std::unique_ptr<S3FlowEncoder> encoder_;
  std::unique_ptr<FlowEstimator> estimator_;
};

}  // namespace syrinx
