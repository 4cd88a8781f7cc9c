#include "families/llm/pipeline.h"

#include "families/llm/checkpoint.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"

namespace syrinx::llm {

Llm::Llm(const LoadSpec& spec) {
  Checkpoint files = open_checkpoint(spec);
  config_ = files.model.config;
  generation_ = files.generation;
  prompter_ = std::make_unique<Prompter>(std::move(files.chat), std::move(files.model.tokenizer),
                                         config_.max_positions - 1);
  weights_ = std::make_unique<Weights>(std::move(files.model.weights));
  weights_->build([&] { lm_ = load_language_model(config_, *weights_, spec.weights); });
  move_networks(spec, "ar", *lm_);
  graph_ = writing(*lm_);
  describe(spec);
}

void Llm::describe(const LoadSpec& spec) {
  name("llm", spec, "see the checkpoint");
  info_.speaks = false;
  info_.writes = true;
  info_.speech.no_cloning = "this model writes; it has no voices";
  info_.max_text_bytes = size_t{4} << 20;  // the prompter refuses prompts that exceed the context
  info_.writing.calls_tools = prompter_->calls_tools();
  info_.writing.writes_json = prompter_->chats();
  info_.writing.positions = config_.max_positions;
  info_.parts = describe_lm(*lm_, config_.type + ", ");
}

Result<Opened> Llm::open(const SpeechRequest& request) const {
  auto answer = Answer::open(config_, generation_, *prompter_, request);
  if (!answer.ok()) return answer.error();
  return Opened(answer.take());
}

}  // namespace syrinx::llm
