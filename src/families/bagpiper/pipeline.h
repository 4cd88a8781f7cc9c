// Bagpiper makes audio of scenes that words describe, and describes recordings in words. In both
// cases the model writes words first. The pipeline has an audio tower, one language model, which
// sends text to the client and codes to the codec, and the codec.
#pragma once

#include <memory>

#include "codec/xcodec.h"
#include "families/bagpiper/config.h"
#include "families/bagpiper/prompter.h"
#include "families/codec_stage.h"
#include "families/family.h"
#include "families/hearing/tower_stage.h"
#include "families/loading/loaded_pipeline.h"
#include "families/spoken/codec_lm.h"
#include "families/spoken/spoken_model.h"

namespace syrinx::bagpiper {

/// The published weight file, by which a checkpoint of this family is recognized.
inline constexpr const char* kMarker = "model.pt";

/// Scales a recording at 16 kHz to mean 0 and deviation 1, like ESPnet's preparation. Samples after
/// the last complete mel frame get no frame, but affect the frames before them.
std::vector<float> prepared(std::vector<float> recording);

class Bagpiper : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Bagpiper(const LoadSpec& spec);

  Result<Opened> open(const SpeechRequest& request) const override;
  /// Returns a question about the recording in the authors' form (espnet2/bin/bagpiper.py).
  Result<SpeechRequest> dictation(const Dictation& dictation) const override;
  /// Returns the answer without the model's thoughts.
  Dictated dictated(const Dictation& asked, std::string_view answer, bool whole) const override;

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const CodecLm& lm() const { return *lm_; }
  const DacCodec& codec() const { return stage_->codec(); }
  const TowerStage& hearing() const { return *hearing_; }

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Qwen3AudioTower> tower_;
  PackedLinear adaptor_;
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<TowerStage> hearing_;
  std::unique_ptr<CodecStage<DacCodec>> stage_;
};

}  // namespace syrinx::bagpiper
