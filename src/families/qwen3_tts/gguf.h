// Qwen3-TTS in the GGUF files of qwentts.cpp: one file with talker, tokenizer and speaker encoder,
// and one with the codec beside it. Their metadata become the published configs, and their tensors
// get the published names. Throws LoadError for values that are missing or not supported.
// Names: ServeurpersoCom/qwentts.cpp:convert.py.
#pragma once

#include <memory>
#include <string>

#include "io/gguf.h"
#include "io/json.h"
#include "io/weights.h"

namespace syrinx::qwen3_tts {

/// Returns whether a GGUF file has a talker of this family.
bool claims_file(const GgufFile& file);
/// Returns whether a GGUF file has a codec, which is not a model by itself.
bool is_codec_file(const GgufFile& file);
/// Returns the path of the codec's file in the folder of the talker's file: of all files with
/// "tokenizer" in their names the largest, because it has the most exact weights. Throws LoadError
/// if the folder has no such file.
std::string codec_beside(const std::string& talker);

/// Returns config.json of the model, as published.
Config gguf_config(const GgufFile& file);
/// Returns generation_config.json of the model, as published.
Config gguf_generation(const GgufFile& file);
/// Returns config.json of the codec, as published.
Config gguf_codec_config(const GgufFile& file);

/// Returns the tensors of the model, or of the codec, under their published names.
std::unique_ptr<WeightSource> gguf_model_weights(std::shared_ptr<const GgufFile> file);
std::unique_ptr<WeightSource> gguf_codec_weights(std::shared_ptr<const GgufFile> file);

}  // namespace syrinx::qwen3_tts
