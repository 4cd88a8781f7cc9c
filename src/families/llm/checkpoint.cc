#include "families/llm/checkpoint.h"

#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

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
  const Tokenizer tokenizer = open_tokenizer(spec);
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
