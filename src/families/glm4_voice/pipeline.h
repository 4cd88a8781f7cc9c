// GLM-4-Voice as a pipeline: speech tokenizer, language model, flow and vocoder, from three
// published checkpoints.
#pragma once

#include <memory>

#include "families/glm4_voice/prompter.h"
#include "families/glm4_voice/stages.h"
#include "families/llm/language_model.h"
#include "families/loading/loaded_pipeline.h"

namespace syrinx::glm4_voice {

class Glm4Voice : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Glm4Voice(const LoadSpec& spec);

  /// Opens a request. A chat is answered. A text alone is read aloud: its ids are forced, and only
  /// the audio is sampled. If the client wants only text, the model continues the text.
  Result<Opened> open(const SpeechRequest& request) const override;

 private:
  void load_networks(const LoadSpec& spec);
  void describe(const LoadSpec& spec);
  Result<ChatPrompt> prompt_of(const SpeechRequest& request, std::vector<float>& samples) const;

  ModelConfig config_;
  llm::Generation generation_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Ids ids_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<GlmSpeechTokenizer> speech_;
  std::unique_ptr<GlmFlow> flow_;
  std::unique_ptr<Hift> hift_;
  std::unique_ptr<HearingStage> hearing_;
  std::unique_ptr<FlowStage> flow_stage_;
  std::unique_ptr<VocoderStage> vocoder_;
};

}  // namespace syrinx::glm4_voice
