#include "families/kokoro/prosody_stage.h"

#include <algorithm>

#include "families/kokoro/state.h"

namespace syrinx::kokoro {

ProsodyStage::ProsodyStage(const KokoroConfig& config, const Prosody& prosody)
    : prosody_(prosody), style_(static_cast<size_t>(config.style)) {
  traits_.hidden = 1;
  traits_.vocab = {1};
  traits_.max_positions = static_cast<int>(config.bert.positions) + 1;
  traits_.values = 1;     // not used, but stages whose sequences send rows must have values
  traits_.writes = true;  // writes features to the sequence, because their size varies
}

void ProsodyStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  std::fill_n(hidden.f32(), hidden.count(), 0.f);
  const Arena::Mark host_mark(ctx.host);
  std::vector<KokoroState*> states;
  std::vector<ProsodyJob> jobs;
  for (KokoroState* state : emitting<KokoroState>(ctx, batch)) {
    if (state->utterance().phonemes() == 0) continue;  // the text ended without further words
    states.push_back(state);
    jobs.push_back({state->utterance().ids, state->style().subspan(style_), state->speed()});
  }
  if (jobs.empty()) return;
  prosody_.run(ctx, jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    states[i]->read(std::move(jobs[i].features), std::move(jobs[i].frames));
  }
}

void ProsodyStage::logits(StepContext&, int, const ArBatch&, View, View, View out) const {
  std::fill_n(out.f32(), out.count(), 0.f);
}

void ProsodyStage::values(StepContext&, const ArBatch&, View, View, View out) const {
  std::fill_n(out.f32(), out.count(), 0.f);
}

}  // namespace syrinx::kokoro
