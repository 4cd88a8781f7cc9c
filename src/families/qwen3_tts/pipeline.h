// Qwen3-TTS: published checkpoints of the 12 Hz models, as a pipeline of talker and codec.
#pragma once

#include <memory>
#include <vector>

#include "codec/qwen3_codec.h"
#include "families/codec_stage.h"
#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/qwen3_tts/config.h"
#include "families/qwen3_tts/frontend.h"
#include "families/qwen3_tts/talker.h"
#include "families/qwen3_tts/voice.h"

namespace syrinx::qwen3_tts {

struct Checkpoint;

/// Loads the networks in the scope "talker". The weights must outlive the result.
std::unique_ptr<CodecLm> load_talker(const ModelConfig& config, const Weights& weights,
                                     WeightType type);

/// Turns frames into samples. The codec keeps its whole past, so no left context or lookahead is
/// needed. If the speech continues a recording, the codec first processes the recording's end.
class HearingCodecStage : public CodecStage<Qwen3Codec> {
 public:
  explicit HearingCodecStage(std::shared_ptr<const Qwen3Codec> codec);
  ~HearingCodecStage() override;
  /// Returns how many frames of a recording the codec processes first. The authors decode recording
  /// and speech together in windows of 300 frames, each with the 25 frames before it. The result is
  /// the number of frames before the speech in the window in which the speech begins.
  static size_t heard_frames(size_t recorded);
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

 private:
  class HeardStates;
  struct Hearing;
  void hear_recordings(StepContext& ctx, std::span<ChunkJob> jobs) const;
  const std::unique_ptr<HeardStates> heard_;
};

/// The loaded model.
class Qwen3Tts : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Qwen3Tts(const LoadSpec& spec);

  Result<Opened> open(const SpeechRequest& request) const override;
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override;

  const ModelConfig& config() const { return config_; }
  const Frontend& frontend() const { return *frontend_; }
  const CodecLm& talker() const { return *talker_; }

 private:
  void load_voices(const Checkpoint& files, bool codec_encoder);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Frontend> frontend_;
  std::unique_ptr<CodecLm> talker_;
  View codec_table_;  // table of code 0 and of named speakers, in the mapped file
  std::unique_ptr<HearingCodecStage> stage_;
};

}  // namespace syrinx::qwen3_tts
