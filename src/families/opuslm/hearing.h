// OpusLM's audio input: a recording becomes frames of a unit and eight codes, 50 per second. A unit
// is the nearest k-means centre of a row of XEUS. The codes come from the codec's encoder. A
// recording is encoded as a whole, in pieces of some tens of milliseconds. Const after
// construction, shared by threads. Sources: espnet/vllm:vllm/model_executor/models/opuslm.py, and
// espnet:egs2/TEMPLATE/asr1/pyscripts/feats/dump_km_label.py. T: frames. S: streams.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/espnet_encoder.h"
#include "codec/nearest_entry.h"
#include "codec/xeus.h"
#include "families/loading/lazy.h"
#include "families/opuslm/config.h"
#include "model/graph.h"
#include "model/stage.h"
#include "model/voice.h"

namespace syrinx::opuslm {

/// The audio encoders: XEUS for units, and the codec's encoder for codes.
class Ears {
 public:
  static constexpr int kSampleRate = Xeus::kSampleRate;
  static constexpr int64_t kLeast = Xeus::kLeast;  ///< least number of samples

  Ears(Xeus xeus, NearestEntry units, EspnetEncoder codec);

  /// Returns T. If the last samples are too few for XEUS, they are in no frame.
  int64_t frames(int64_t samples) const;
  /// Returns an estimate of the pieces of a recording of `samples` samples.
  int64_t pieces(int64_t samples) const;
  /// Encodes `samples`, at least kLeast, into i32 [T, S], in pieces that use the context in `ctx`
  /// while they run. Samples, frames, `ctx` and this object must outlive the pieces.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& frames) const;
  size_t bytes() const { return xeus_.bytes() + units_.bytes() + codec_.bytes(); }

 private:
  Xeus xeus_;
  NearestEntry units_;
  EspnetEncoder codec_;
};

/// Encoders that are loaded when the first recording arrives.
using LazyEars = Lazy<Ears>;

/// Turns a request's recordings into frames. The input for a recording is its samples, filled up to
/// whole frames of kWidth. A silent frame follows for each piece of the work, so that other batches
/// can run between the pieces. Then comes a frame for each chunk of the output. frames_in() returns
/// the number of all these frames.
class HearingStage : public ChunkStage {
 public:
  HearingStage(const LazyEars& ears, int64_t streams) : ears_(ears), streams_(streams) {}

  static constexpr int kWidth = 1600;  ///< samples of a frame
  static constexpr ChunkPolicy kPolicy{.initial = 1, .steady = 1};
  FrameType in() const override { return {Flow::kSamples, kWidth}; }
  FrameType out() const override { return {Flow::kRows, static_cast<int>(streams_)}; }
  int most_out() const override { return kMostOut; }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

  /// Returns the number of input frames for a recording of `samples` samples.
  static int64_t frames_in(const Ears& ears, int64_t samples);

 private:
  static constexpr int kMostOut = 32;
  struct Stream;
  void take(StepContext& ctx, Stream& stream, std::span<const float> samples,
            std::vector<float>& heard) const;

  const LazyEars& ears_;
  int64_t streams_;
};

/// Makes an encoder that turns recordings into voices, which are frames. `ears` must outlive it.
std::unique_ptr<VoiceEncoder> make_voices(const LazyEars& ears);

}  // namespace syrinx::opuslm
