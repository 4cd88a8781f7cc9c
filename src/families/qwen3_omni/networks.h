// All networks of a Qwen3-Omni checkpoint, from its published names: thinker.{model, lm_head,
// audio_tower}, talker and code2wav; thinker.visual is left out. Throws LoadError.
#pragma once

#include <optional>

#include "codec/qwen3_codec.h"
#include "families/family.h"
#include "families/qwen3_omni/talker.h"
#include "families/qwen3_omni/thinker.h"

namespace syrinx::qwen3_omni {

struct Networks {
  /// `weights` is the checkpoint's root. Throws LoadError when a tensor is missing or left over.
  Networks(const ModelConfig& config, const Weights& weights, const LoadSpec& spec);

  Weights weights;  ///< holds the tables that are not copied
  Qwen3AudioTower tower;
  Thinker thinker;
  std::optional<Talker> talker;  ///< where config.speaks
  std::optional<Qwen3Codec> codec;
};

}  // namespace syrinx::qwen3_omni
