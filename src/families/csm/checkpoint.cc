#include "families/csm/checkpoint.h"

#include "families/csm/gguf.h"
#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::csm {
namespace {

constexpr const char* kIndex = "transformers.safetensors.index.json";
constexpr const char* kOriginalName = "backbone.layers.0.attn.q_proj.weight";

/// Opens the weights. In the published repository, model.safetensors has the authors' own layout.
/// The same folder has files in the layout of transformers.
std::unique_ptr<WeightSource> source(const LoadSpec& spec, const ModelConfig& config) {
  std::string file = config.weights_file;
  if (file.empty() && is_file(join_path(spec.dir, kIndex))) file = kIndex;
  auto weights = weights_at(spec, file.empty() ? spec.dir : join_path(spec.dir, file),
                            [](const std::string&) { return true; });
  if (!spec.dummy && weights->has(kOriginalName)) {
    throw LoadError(concat(weights->where(kOriginalName),
                           ": these are the weights in the authors' own layout, without the codec; "
                           "download the transformers-*.safetensors files and ",
                           kIndex, " too"));
  }
  return weights;
}

Checkpoint open_published(const LoadSpec& spec) {
  ModelConfig config = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  const std::string words[] = {kBegin, kEnd};
  Tokenizer tokenizer = open_tokenizer(spec, words, config.text_vocab);
  auto weights = source(spec, config);
  return {std::move(config), load_defaults(join_path(spec.dir, "generation_config.json")),
          std::move(tokenizer), std::move(weights)};
}

Checkpoint open_gguf(const LoadSpec& spec) {
  const GgufFiles files = open_gguf_files(spec.dir);
  return {
      load_model_config(gguf_config(files)),
      {},
      llm::load_gguf_tokenizer(*files.backbone, "llama-bpe"),
      spec.dummy ? dummy_weights([](const std::string&) { return true; }) : gguf_weights(files)};
}

}  // namespace

Checkpoint open_checkpoint(const LoadSpec& spec) {
  return spec.dir.ends_with(llm::kGgufEnd) ? open_gguf(spec) : open_published(spec);
}

}  // namespace syrinx::csm
