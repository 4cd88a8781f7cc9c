// Qwen3-Omni as a graph: the client's samples -> tower -> rows -> thinker -> text for the client;
// the thinker's ids and rows of recordings -> talker -> codes -> code2wav -> samples for the
// client. A request that wants only text opens neither talker nor code2wav.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "families/llm/prompter.h"
#include "families/qwen3_omni/networks.h"
#include "families/qwen3_omni/stages.h"
#include "families/qwen3_omni/thinker_sequence.h"
#include "model/pipeline.h"

namespace syrinx::qwen3_omni {

class Qwen3Omni : public Pipeline {
 public:
  /// Throws LoadError.
  explicit Qwen3Omni(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  /// A chat is answered. A text alone is read aloud: the talker is told its ids as if the thinker
  /// had answered so; where only text is wanted, the thinker goes on with it.
  Result<Opened> open(const SpeechRequest& request) const override;

 private:
  void join();
  void describe(const LoadSpec& spec);
  Result<ThinkerPrompt> prompt_of(const SpeechRequest& request) const;
  Result<ThinkerPrompt> reading_aloud(const std::string& text) const;
  Status place_recordings(const std::vector<std::vector<float>>& recordings,
                          ThinkerPrompt& prompt) const;
  Status check_prompt(const ThinkerPrompt& prompt, bool speaks) const;
  Result<int32_t> speaker(const SpeechRequest& request) const;

  ModelConfig config_;
  llm::ModelConfig shape_;  // of the thinker, for its answers
  llm::Generation generation_;
  std::unique_ptr<llm::Prompter> prompter_;
  std::unique_ptr<Networks> networks_;
  std::unique_ptr<TowerStage> tower_;
  std::unique_ptr<ThinkerStage> thinker_;
  std::unique_ptr<TalkerStage> talker_;
  std::unique_ptr<Code2WavStage> code2wav_;
  Graph graph_;
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::qwen3_omni
