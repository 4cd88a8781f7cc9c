#include "families/orpheus/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::orpheus {
namespace {

Checkpoint open_gguf(const LoadSpec& spec) {
  const auto file = std::make_shared<const GgufFile>(spec.dir);
  const llm::ModelConfig config = llm::load_gguf_config(*file);
  return {decoder_config(config.lm, config.vocab, config.max_positions, config.tied),
          llm::load_gguf_tokenizer(*file),
          true,
          spec.dummy ? dummy_weights() : llm::gguf_weights(file, config),
          spec.dir,
          std::filesystem::path(spec.dir).parent_path().string()};
}

Checkpoint open_published(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, "config.json");
  return {load_model_config(Config::load(path)),
          open_tokenizer(spec),
          !spec.dummy || has_tokenizer(spec.dir),
          weights_at(spec, spec.dir),
          path,
          spec.dir};
}

}  // namespace

Checkpoint open_checkpoint(const LoadSpec& spec) {
  return spec.dir.ends_with(llm::kGgufEnd) ? open_gguf(spec) : open_published(spec);
}

bool claims_file(const std::string& path) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  const GgufFile file(path);
  if (file.text("general.architecture", "") != "llama" || !file.has(kTokens)) return false;
  return std::ranges::find(file.list(kTokens).texts, kFirstCode) != file.list(kTokens).texts.end();
}

}  // namespace syrinx::orpheus
