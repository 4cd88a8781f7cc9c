// Kyutai STT in the layout of the moshi package: a delayed-streams model that writes words of a
// recording while its samples arrive. Graph: the client's samples -> Mimi's encoder -> rows -> the
// language model -> text. Each recording is one request.
#pragma once

#include <memory>
#include <optional>

#include "families/family.h"
#include "families/kyutai_stt/hearing_stage.h"
#include "families/kyutai_stt/text_stage.h"
#include "families/loading/loaded_pipeline.h"
#include "text/tokens/unigram.h"

namespace syrinx::kyutai_stt {

class KyutaiStt : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit KyutaiStt(const LoadSpec& spec);

  /// Opens a request whose task is a Hearing.
  Result<Opened> open(const SpeechRequest& request) const override;
  Result<SpeechRequest> listening(const OpenDictation& listening) const override;

  const ModelConfig& config() const { return config_; }
  const Unigram& words() const { return *words_; }
  const HearingStage& encoder() const { return *encoder_; }
  const TextStage& lm() const { return *lm_; }

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::optional<Unigram> words_;
  std::unique_ptr<const Weights> weights_;  // both stages read its tables in place
  std::unique_ptr<HearingStage> encoder_;
  std::unique_ptr<TextStage> lm_;
};

}  // namespace syrinx::kyutai_stt
