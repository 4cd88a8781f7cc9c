// Zonos-v0.1 transformer: published checkpoints as a pipeline of the language model and DAC.
#pragma once

#include <memory>
#include <vector>

#include "codec/dac.h"
#include "families/dac_stage.h"
#include "families/family.h"
#include "families/spoken/codec_lm.h"
#include "families/zonos/config.h"
#include "families/zonos/phonemes.h"
#include "families/zonos/script.h"
#include "families/zonos/voice.h"
#include "model/pipeline.h"

namespace syrinx::zonos {

class Zonos : public Pipeline {
 public:
  /// Throws LoadError.
  explicit Zonos(const LoadSpec& spec, Phonemize phonemize = espeak_phonemes);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;
  const VoiceEncoder* voice_encoder() const override { return voices_.get(); }
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override;

  const ModelConfig& config() const { return config_; }
  const CodecLm& lm() const { return *lm_; }

 private:
  void load_codec(const LoadSpec& spec);
  void load_speakers(const LoadSpec& spec);
  void find_speaker_encoder(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Weights> weights_;  // kept: the tables are read from the mapped file
  std::unique_ptr<PrefixConditioner> conditioner_;
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<Frontend> frontend_;
  std::unique_ptr<DacCodec> codec_;
  std::unique_ptr<DacStage> stage_;
  Graph graph_;
  std::unique_ptr<VoiceMaker> voices_;  // null where the encoder's files are missing
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::zonos
