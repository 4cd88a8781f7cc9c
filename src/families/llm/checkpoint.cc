#include "families/llm/checkpoint.h"

#include "families/llm/gguf.h"
#include "families/weight_files.h"
#include "io/file.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::llm {
namespace {

Checkpoint open_gguf(const LoadSpec& spec) {
  const auto file = std::make_shared<const GgufFile>(spec.dir);
  ModelConfig config = load_gguf_config(*file);
  return {config, load_gguf_tokenizer(*file), load_gguf_generation(*file),
          load_gguf_template(*file), spec.dummy ? dummy_weights() : gguf_weights(file, config)};
}

Checkpoint open_published(const LoadSpec& spec) {
  const Config root = Config::load(join_path(spec.dir, "config.json"));
  const ModelConfig config = load_model_config(root);
  const bool no_tokenizer = spec.dummy && !is_file(join_path(spec.dir, "tokenizer.json"));
  const Tokenizer tokenizer = no_tokenizer ? byte_tokenizer({}) : Tokenizer::load(spec.dir);
  std::unique_ptr<WeightSource> weights = weights_at(spec, spec.dir);
  if (config.quantized && !spec.dummy) weights = dequantized(std::move(weights), *config.quantized);
  return {config, tokenizer, load_generation(spec.dir, root, tokenizer),
          ChatTemplate::load(spec.dir), std::move(weights)};
}

}  // namespace

Checkpoint open_checkpoint(const LoadSpec& spec) {
  return spec.dir.ends_with(kGgufEnd) ? open_gguf(spec) : open_published(spec);
}

}  // namespace syrinx::llm
