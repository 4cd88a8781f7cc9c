// All networks of a Qwen3-Omni checkpoint, from its published names: thinker.{model, lm_head,
// audio_tower}, talker and code2wav; thinker.visual is left out. Throws LoadError.
#pragma once

#include <memory>
#include <optional>

#include "codec/qwen3_codec.h"
#include "families/family.h"
#include "families/qwen3_omni/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::qwen3_omni {

struct Networks {
  /// `weights` is the checkpoint's root. Throws LoadError when a tensor is missing or left over.
  Networks(const ModelConfig& config, const Weights& weights, const LoadSpec& spec);

  Weights weights;  ///< holds the tables that are not copied
  Qwen3AudioTower tower;
  std::unique_ptr<CodecLm> thinker;  ///< what it taps is what the talker hears of recordings
  std::unique_ptr<CodecLm> talker;   ///< where config.speaks
  std::optional<Qwen3Codec> codec;
};

}  // namespace syrinx::qwen3_omni
