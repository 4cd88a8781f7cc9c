// CSM in llama.cpp's format: one file with the backbone and the tokenizer, one with the depth
// decoder, and one with Mimi. Sizes come from metadata and tensors, all else has the published
// values. Throws LoadError for values that are missing or not supported. Names, layouts:
// ngxson/llama.cpp, branch xsn/csm_tts: examples/tts/convert_{csm,mimi}_to_gguf.py.
#pragma once

#include <memory>
#include <string>

#include "io/gguf.h"
#include "io/json.h"
#include "io/weights.h"

namespace syrinx::csm {

/// Returns whether a GGUF file has a backbone of this family.
bool claims_file(const GgufFile& file);
/// Returns whether a GGUF file is another part of the family, which is not a model by itself.
bool is_part_file(const GgufFile& file);

/// The files of a model.
struct GgufFiles {
  std::shared_ptr<const GgufFile> backbone, depth, codec;
};

/// Opens the backbone's file and the other parts in its folder. Throws LoadError if one is missing.
GgufFiles open_gguf_files(const std::string& backbone);
/// Returns config.json of the model, as published.
Config gguf_config(const GgufFiles& files);
/// Returns the tensors of all files under their published names.
std::unique_ptr<WeightSource> gguf_weights(const GgufFiles& files);

}  // namespace syrinx::csm
