// Settings in config.json of an OpusLM. ESPnet's own serving tools write it for a published
// model.pth: vocabulary ranges and ids from ESPnet's config.yaml, and sizes of the backbone. Plain
// data, checked when read. Throws LoadError for values that are missing, contradictory or not
// supported. Source: espnet/vllm:examples/espnet/convert/bootstrap_assets.py.
#pragma once

#include <cstdint>
#include <string>

#include "io/json.h"
#include "model/delay.h"
#include "nn/decoder.h"

namespace syrinx::opuslm {

/// Special ids of the vocabulary: neither units nor codes nor text.
struct ControlIds {
  int32_t pad = 0, end = 0;  ///< `end` also begins every prompt
  int32_t system = 0, user = 0, assistant = 0;
  int32_t speech = 0, text = 0, speaker = 0;  ///< kinds of parts; each id precedes the part's rows
  int32_t asr = 0, tts = 0, plain_tts = 0;    ///< tasks of a prompt
  int32_t text_dialogue = 0, audio_dialogue = 0;
};

/// Sizes. A step has S streams: stream 0 has units of a speech encoder, or text; others have codes.
struct ModelConfig {
  DecoderConfig lm;
  bool dialogue = false;  ///< whether it was trained to answer with speech
  int64_t vocab = 0;      ///< rows of the only table and the only head
  int64_t max_positions = 0;
  int64_t streams = 0;  ///< S, number of streams of a step
  int64_t codes = 0;    ///< V, number of codes of each stream of codes
  int32_t first_unit = 0, units = 0;
  /// Id of the first code of stream 1. In stream s, the first code is (s - 1) * V larger.
  int32_t first_code = 0;
  int32_t first_word = 0, words = 0;
  ControlIds ids;
  /// Frames of a voice. A voice is cut, or filled with pads, to this length.
  int64_t speaker_frames = 0;
  int64_t least_steps = 0;  ///< steps of speech before the end is allowed
  double sample_rate = 0;   ///< in Hz
  float temperature = 0;    ///< temperature of speech
  int top_k = 0;            ///< top-k of speech
  std::string codec;        ///< name of the codec, as "Org/Name"
  std::string xeus;         ///< name of the speech encoder, as "Org/Name"
  std::string xeus_file;    ///< file with the weights of the speech encoder
  std::string units_file;   ///< file of k-means over the encoder's rows
  int64_t xeus_layer = 0;   ///< layer of the encoder whose output the k-means reads

  /// Returns the pattern in which code s is delayed by s steps. The model samples the whole frame
  /// of the end. Pads follow this frame.
  DelayPattern delays() const;
  /// Returns the number of ids in a stream's logits. Stream 0 has control ids, units and text. Each
  /// other stream has the pad and V codes.
  int64_t choices(int64_t stream) const { return stream == 0 ? first_code + words : codes + 1; }
  /// Returns the id for choice `choice` of a stream.
  int32_t id_of(int64_t stream, int32_t choice) const;
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes and ranges of ids. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::opuslm
