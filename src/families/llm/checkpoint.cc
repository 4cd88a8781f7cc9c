#include "families/llm/checkpoint.h"

#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::llm {
namespace {

bool is_gguf(const LoadSpec& spec) { return spec.dir.ends_with(kGgufEnd); }

StoredModel stored(const LoadSpec& spec, const std::shared_ptr<const GgufFile>& file) {
  const ModelConfig config = load_gguf_config(*file);
  return {config, load_gguf_tokenizer(*file),
          spec.dummy ? dummy_weights() : gguf_weights(file, config)};
}

StoredModel stored(const LoadSpec& spec, const Config& root,
                   std::span<const std::string> words = {}) {
  const ModelConfig config = load_model_config(root);
  std::unique_ptr<WeightSource> weights = weights_at(spec, spec.dir);
  if (config.quantized && !spec.dummy) weights = dequantized(std::move(weights), *config.quantized);
  return {config, open_tokenizer(spec, words), std::move(weights)};
}

Config published_config(const LoadSpec& spec) {
  return Config::load(join_path(spec.dir, "config.json"));
}

}  // namespace

StoredModel open_model(const LoadSpec& spec, std::span<const std::string> words) {
  return is_gguf(spec) ? stored(spec, std::make_shared<const GgufFile>(spec.dir))
                       : stored(spec, published_config(spec), words);
}

Checkpoint open_checkpoint(const LoadSpec& spec) {
  if (is_gguf(spec)) {
    const auto file = std::make_shared<const GgufFile>(spec.dir);
    return {stored(spec, file), load_gguf_generation(*file), load_gguf_template(*file)};
  }
  const Config root = published_config(spec);
  StoredModel model = stored(spec, root);
  Generation generation = load_generation(spec.dir, root, model.tokenizer);
  return {std::move(model), std::move(generation), ChatTemplate::load(spec.dir)};
}

}  // namespace syrinx::llm
