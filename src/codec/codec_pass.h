// What decoders of codecs share that keep the past of a stream in a state: the state, the input and
// output of a stream in one call, and passes over many streams. A stream has the same bits for any
// division into chunks, and does not depend on the other streams of a call. A state is used by one
// call at a time. Q codes of a frame, D width of a latent frame, T frames, hop samples of a frame.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/stream_decoder.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// State of one stream between calls.
struct CodecState {
  int64_t frames = 0;            ///< frames decoded so far
  std::vector<ConvState> convs;  ///< pasts of the convolutions, in the order of the network
  std::vector<StreamKv> kv;      ///< keys and values of each transformer's last window

  CodecState clone() const;
};

/// Input and output of one stream in one call, for codecs that decode codes.
struct CodecJob {
  CodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q]
  std::span<float> out;            ///< [T * hop], output
};

/// Input and output of one stream in one call, for codecs that decode latents.
struct LatentJob {
  CodecState* state = nullptr;
  std::span<const float> latents;  ///< [T, D]
  std::span<float> out;            ///< [T * hop], output
};

/// The output of one stream in one call.
struct FrameJob {
  CodecState* state = nullptr;
  int64_t frames = 0;    ///< T
  std::span<float> out;  ///< [T * hop], output
};

/// Returns the jobs' outputs; a frame has `width` codes. Fails for jobs without whole frames.
std::span<FrameJob> frame_jobs(StepContext& ctx, std::span<const CodecJob> jobs, int64_t width);
/// Does the same for latents.
std::span<FrameJob> frame_jobs(StepContext& ctx, std::span<const LatentJob> jobs, int64_t width);
/// Fails for codes outside [0, below).
void check_codes(std::span<const int32_t> codes, int64_t below);

/// A pass through the network of a codec.
class CodecPass : public StreamPass {
 public:
  CodecPass(StepContext& ctx, std::span<const PassPart> parts, std::span<const FrameJob> jobs);

  CodecState& state(const PassPart& part) const { return *jobs_[part.job].state; }
  /// Returns the rows of transformer `number` in the pass, `rate` rows a frame.
  std::span<const StreamRows> rows(StepContext& ctx, size_t number, int64_t rate) const;
  /// Copies the latents of the pass, [frames, width], to the arena.
  View latents(StepContext& ctx, std::span<const LatentJob> jobs, int64_t width) const;

 private:
  std::span<const FrameJob> jobs_;
};

/// Decodes the frames of all jobs, in passes of at most `most` frames over all streams. room():
/// limit of a stream's frames in the next pass. network(): makes the samples of a pass, in the
/// order of its parts. On a GPU, the samples are ready after synchronize().
void decode_frames(StepContext& ctx, std::span<const FrameJob> jobs, int64_t hop, int64_t most,
                   FunctionRef<int64_t(CodecState& state)> room,
                   FunctionRef<View(CodecPass& pass)> network);

}  // namespace syrinx
