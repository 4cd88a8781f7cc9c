// Whisper as CTranslate2 keeps it, which is how faster-whisper's models are published: model.bin,
// config.json with lists of ids, tokenizer.json. Sizes are those of the variables; ids that
// config.json lacks are those of the tokenizer. Throws LoadError.
#pragma once

#include <memory>
#include <string>

#include "families/whisper/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::whisper {

/// The file that such a directory has beside its config.json.
inline constexpr const char* kCt2File = "model.bin";

/// Whether this config.json is that of a Whisper which CTranslate2 converted.
bool claims_ct2(const Config& root);

/// A model in the terms of the published layout.
struct Ct2Model {
  ModelConfig config;
  /// Variables by the names of transformers. The latest eight of those in 8 bits or at unaligned
  /// addresses are kept: a layer packs its tensors before the next one takes any.
  std::unique_ptr<WeightSource> weights;
};
/// Opens a model in CTranslate2's format. Throws LoadError.
Ct2Model open_ct2(const std::string& dir);

/// Which ids are what, of config.json and the tokenizer.
Generation load_ct2_generation(const Config& root, const ModelConfig& model,
                               const Tokenizer& tokenizer);

}  // namespace syrinx::whisper
