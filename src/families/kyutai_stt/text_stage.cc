#include "families/kyutai_stt/text_stage.h"

#include <algorithm>

#include "families/kyutai_stt/transcription.h"
#include "kernels/embedding.h"
#include "nn/layers.h"
#include "nn/stream_pass.h"

namespace syrinx::kyutai_stt {

TextStage::TextStage(const ModelConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.lm, weights, type, 1, type == WeightType::kF32 ? DType::kF32 : DType::kF16),
      table_(weights.take("text_emb.weight", {config.text_in + 1, config.lm.hidden})),
      head_(load_linear(weights, "text_linear", config.text_out, config.lm.hidden, config.biased,
                        at_least_8_bits(type))) {
  traits_.hidden = config.lm.hidden;
  traits_.vocab = {static_cast<int>(config.text_out)};
  traits_.max_positions = Transcription::kSteps + 1;
  traits_.writes = true;  // writes keys and values to the sequences
}

void TextStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t width = traits_.hidden;
  const auto streams = take_array<StreamRows>(ctx, batch.emits);
  const auto ids = take_array<int32_t>(ctx, batch.emits);
  const auto places = take_array<float*>(ctx, batch.emits);  // rows of `hidden`
  const View all = take_rows(ctx, batch.emits, width);
  int64_t running = 0, row = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    auto& sequence = static_cast<Transcription&>(*seq.state);
    float* to = hidden.f32() + row++ * width;
    const std::span<const float> heard = sequence.row();
    std::fill_n(to, width, 0.f);
    if (heard.empty()) continue;  // the step after the last frame
    decoder_.room(ctx, sequence.kv());
    std::ranges::copy(heard, all.f32() + running * width);
    ids[running] = sequence.last();
    streams[running] = {&sequence.kv(), 1};
    places[running++] = to;
  }
  if (running == 0) return;
  const View x = all.slice(0, running);
  embed(ctx, table_, ids.first(static_cast<size_t>(running)), x, true);
  decoder_.forward(ctx, x, streams.first(static_cast<size_t>(running)));
  const View normed = take_rows(ctx, running, width);
  decoder_.norm(ctx, x, normed);
  for (int64_t i = 0; i < running; ++i)
    std::copy_n(normed.f32() + i * width, width, places[static_cast<size_t>(i)]);
}

void TextStage::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, head_, hidden, out);
}

}  // namespace syrinx::kyutai_stt
