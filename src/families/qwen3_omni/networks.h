// All networks of a Qwen3-Omni checkpoint, by their published names: thinker.{model, lm_head,
// audio_tower}, talker and code2wav. thinker.visual is not loaded. Throws LoadError.
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
  /// `weights`: the root of the checkpoint. Throws LoadError if a tensor is missing or unused.
  Networks(const ModelConfig& config, const Weights& weights, const LoadSpec& spec);

  Weights weights;  ///< weights of the checkpoint, whose tables are not copied
  Qwen3AudioTower tower;
  /// The thinker. Its taps are the talker's input for recordings.
  std::unique_ptr<CodecLm> thinker;
  std::unique_ptr<CodecLm> talker;  ///< null unless config.speaks
  std::optional<Qwen3Codec> codec;
};

}  // namespace syrinx::qwen3_omni
