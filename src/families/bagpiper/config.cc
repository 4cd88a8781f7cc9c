#include "families/bagpiper/config.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "families/llm/config.h"

namespace syrinx::bagpiper {
namespace {

constexpr int64_t kTowerHead = 64;  // width of a head of the tower, which no tensor reveals

/// Returns the sizes of Qwen3-Omni's tower. Its windows have the size of the published config,
/// which ESPnet used in training.
Qwen3AudioConfig tower_sizes(const Weights& tower) {
  Qwen3AudioConfig a;
  const auto first = [&](const char* name, int64_t& size) {
    if (const auto shape = tower.shape(name); shape && shape->dims() > 0) size = (*shape)[0];
  };
  first("conv2d1.weight", a.channels);
  first("proj1.weight", a.width);
  first("layers.0.fc1.weight", a.ffn);
  first("proj2.weight", a.out);
  if (const int64_t layers = tower.count("layers"); layers > 0) a.layers = layers;
  if (a.width % kTowerHead != 0 || a.width < kTowerHead) {
    throw LoadError(concat(tower.full("proj1.weight"), ": the width ", a.width,
                           " is not a multiple of ", kTowerHead));
  }
  a.heads = a.width / kTowerHead;
  return a;
}

}  // namespace

int32_t ModelConfig::code_of(int64_t stream, int32_t choice) const {
  return std::max(id_of(stream, choice) - first_code(stream) - 1, 0);
}

DelayPattern ModelConfig::delays() const {
  return {DelayPattern::staggered(static_cast<int>(streams)), {}, DelayDrain::kFree};
}

ModelConfig load_model_config(const Config& root, const Weights& weights) {
  if (const std::string type = root.opt_s("model_type", ""); type != "qwen3") {
    root.fail("model_type", "is \"" + type + "\"; expected the config.json of Qwen3-8B-Base");
  }
  const llm::ModelConfig base = llm::load_model_config(root);
  ModelConfig m;
  m.lm = base.lm;
  m.max_positions = base.max_positions;
  m.words = base.vocab;
  m.audio = tower_sizes(weights.scope(kTowerScope));
  if (const auto shape = weights.shape("stream_emb.weight"); shape && shape->dims() == 2) {
    m.streams = std::clamp<int64_t>((*shape)[0], 1, ModelConfig::kMostStreams);
  }
  const char* table = "model.embed_tokens.weight";
  if (const auto shape = weights.shape(table); shape && shape->dims() == 2) {
    const int64_t slots = (*shape)[0] - ModelConfig::kFirstWord - m.words;
    if (slots < 2 * m.streams || slots % m.streams != 0) {
      if (!weights.has("stream_emb.weight")) {  // the tensor's shape gives the number of streams
        weights.take("stream_emb.weight", {m.streams, m.lm.hidden});
        weights.finish({"*"});
      }
      throw LoadError(
          concat(weights.full(table), ": ", (*shape)[0], " rows; expected ",
                 ModelConfig::kFirstWord, " ids, ", m.words,
                 " of text (vocab_size of config.json) and equally many codes for each of ",
                 m.streams, " streams"));
    }
    m.codes = slots / m.streams - 1;
  }
  return m;
}

}  // namespace syrinx::bagpiper
