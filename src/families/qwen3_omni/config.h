// Settings in config.json of a Qwen3-Omni checkpoint. Plain data, checked when read: every id is
// inside its table. Throws LoadError for values that are missing, contradictory or not supported.
//
// Positions: by the config, thinker and talker rotate queries and keys by three positions (time,
// height, width; "mrope_section", interleaved). Without pictures and videos, the authors' three
// positions are equal and count from 0 without gaps, also through recordings (get_rope_index). So
// for text and audio this is exactly plain RoPE, which is used here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "codec/qwen3_audio_tower.h"
#include "codec/qwen3_codec_config.h"
#include "families/llm/config.h"
#include "families/qwen3_tts/talker.h"
#include "io/json.h"

namespace syrinx::qwen3_omni {

/// Ids of the thinker's vocabulary with a special meaning.
struct TextIds {
  int32_t im_start = 0, im_end = 0, system = 0, user = 0, assistant = 0;
  int32_t tts_pad = 0, tts_bos = 0, tts_eos = 0;
  int32_t audio = 0;             ///< id that represents a row of a recording
  int32_t image = 0, video = 0;  ///< inputs that this program does not support
};

/// Special ids of the talker's vocabulary, which are not audio codes.
struct CodecIds {
  int32_t pad = 0, bos = 0, eos = 0, nothink = 0, think_bos = 0, think_eos = 0;
};

/// Sizes of the talker, which speaks. Vocabulary: audio codes of codebook 0, then 1024 other ids.
struct TalkerConfig : qwen3_tts::TalkerSizes {
  int64_t thinker_hidden = 0;  ///< width of the thinker's rows
  int64_t inner = 0;           ///< inner width of the projections of text and of thinker rows
  int accept_layer = 0;        ///< number of the thinker's block whose input rows the talker gets
  CodecIds codec;
  std::map<std::string, int32_t> speakers;  ///< ids of speakers by lower-case name

  int64_t audio_codes() const { return vocab - kOtherIds; }
  static constexpr int64_t kOtherIds = 1024;
};

/// Sizes and ids of all networks. Plain data.
struct ModelConfig {
  TextIds text;
  llm::ModelConfig thinker;  ///< accepts recordings and writes text
  Qwen3AudioConfig audio;
  bool speaks = false;  ///< whether the checkpoint has a talker (enable_audio_output)
  TalkerConfig talker;
  Qwen3CodecConfig codec;
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes of all networks. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::qwen3_omni
