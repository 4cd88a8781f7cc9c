// Step-Audio-2-mini as a pipeline: audio encoder, language model, flow and vocoder.
#pragma once

#include <memory>

#include "families/llm/language_model.h"
#include "families/loading/loaded_pipeline.h"
#include "families/s3/flow_stage.h"
#include "families/s3/recent.h"
#include "families/s3/vocoder_stage.h"
#include "families/step_audio2/hearing_stage.h"
#include "families/step_audio2/prompter.h"
#include "families/step_audio2/voices.h"

namespace syrinx::step_audio2 {

class StepAudio2 : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit StepAudio2(const LoadSpec& spec);

  /// Opens a request. A chat is answered. A text alone is read aloud: its ids are forced, and only
  /// the audio is sampled. If the client wants only text, the model continues the text.
  Result<Opened> open(const SpeechRequest& request) const override;
  /// Returns a request in the form of the authors' recognition task (Step-Audio2:examples.py).
  Result<SpeechRequest> dictation(const Dictation& dictation) const override;

  const S3Flow& flow() const { return *flow_; }
  const Voices& voices() const { return stored_; }

 private:
  void load_networks(const LoadSpec& spec, const Config& root);
  void describe(const LoadSpec& spec);
  Result<ChatPrompt> prompt_of(const SpeechRequest& request, std::vector<float>& samples) const;
  Result<std::shared_ptr<const S3FlowVoice>> voice(const SpeechRequest& request) const;

  ModelConfig config_;
  llm::Generation generation_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Ids ids_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<StepAudioEncoder> encoder_;
  std::unique_ptr<S3Flow> flow_;
  std::unique_ptr<Hift> hift_;
  Voices stored_;
  std::shared_ptr<const S3FlowVoice> nobody_;  // voice of answers that have no audio
  mutable Recent<S3FlowVoice> recent_;
  std::unique_ptr<HearingStage> hearing_;
  std::unique_ptr<S3FlowStage> flow_stage_;
  std::unique_ptr<S3VocoderStage> vocoder_;
};

}  // namespace syrinx::step_audio2
