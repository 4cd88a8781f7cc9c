// OpusLM and OpusLM-Dialogue: read texts aloud, answer conversations in words and speech, and
// transcribe recordings. The pipeline has audio encoders, one language model, which sends text to
// the client and codes to the codec, and the codec.
#pragma once

#include <memory>

#include "codec/espnet_codec.h"
#include "families/codec_stage.h"
#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/opuslm/answer.h"
#include "families/opuslm/config.h"
#include "families/opuslm/hearing.h"
#include "families/opuslm/prompter.h"
#include "families/opuslm/reading.h"
#include "families/opuslm/speech_lm.h"

namespace syrinx::opuslm {

/// ESPnet's names of the weight files of OpusLM and of the dialogue model.
inline constexpr const char *kWeightsFile = "model.pth", *kDialogueFile = "2epoch.pth";
/// The end of the error for a directory in ESPnet's published layout: lists the missing files.
inline constexpr const char* kNeeds =
    "an OpusLM needs config.json and tokenizer.json beside this file, which ESPnet's "
    "examples/espnet/convert/bootstrap_assets.py (github.com/espnet/vllm) makes, and the folder of "
    "its codec, espnet_codec_dac_large_v1.4_360epoch";

class OpusLm : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit OpusLm(const LoadSpec& spec);

  Result<Opened> open(const SpeechRequest& request) const override;
  Result<SpeechRequest> dictation(const Dictation& dictation) const override;

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const CodecLm& lm() const { return *lm_; }
  const EspnetCodec& codec() const { return stage_->codec(); }

 private:
  void load_codec(const LoadSpec& spec);
  void find_ears(const LoadSpec& spec, const Weights& generator, const EspnetCodecConfig& codec);
  Result<std::vector<Heard>> hear(const SpeechRequest& request, std::vector<float>& samples) const;
  Result<Opened> read_aloud(const SpeechRequest& request) const;
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<CodecStage<EspnetCodec>> stage_;
  std::unique_ptr<LazyEars> ears_;  // null if their files are missing
  std::unique_ptr<HearingStage> hearing_;
};

}  // namespace syrinx::opuslm
