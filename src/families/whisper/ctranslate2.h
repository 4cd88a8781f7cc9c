// Whisper in CTranslate2's format, in which faster-whisper publishes models: model.bin, config.json
// with lists of ids, tokenizer.json. Sizes come from the variables. Ids that config.json lacks come
// from the tokenizer. Throws LoadError.
#pragma once

#include <memory>
#include <string>

#include "families/whisper/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::whisper {

/// The name of the weight file in such a directory.
inline constexpr const char* kCt2File = "model.bin";

/// Returns whether this config.json belongs to a Whisper that CTranslate2 converted.
bool claims_ct2(const Config& root);

/// A model, converted to the form of the published layout.
struct Ct2Model {
  ModelConfig config;
  /// Variables by their names in transformers. 8-bit and unaligned variables are copied. The latest
  /// eight copies are kept, because a layer packs its tensors before the next layer reads any.
  std::unique_ptr<WeightSource> weights;
};
/// Opens a model in CTranslate2's format. Throws LoadError.
Ct2Model open_ct2(const std::string& dir);

/// Finds the special ids in config.json and the tokenizer.
Generation load_ct2_generation(const Config& root, const ModelConfig& model,
                               const Tokenizer& tokenizer);

}  // namespace syrinx::whisper
