#include "families/qwen3_tts/checkpoint.h"

#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "families/loading/tokenizer.h"
#include "families/qwen3_tts/gguf.h"
#include "io/file.h"

namespace syrinx::qwen3_tts {
namespace {

const std::string kRoles[] = {"assistant"};

Checkpoint open_published(const LoadSpec& spec) {
  ModelConfig config = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  const std::string sampling = join_path(spec.dir, "generation_config.json");
  if (is_file(sampling)) config.defaults = load_defaults(Config::load(sampling));
  Tokenizer tokenizer = open_tokenizer(spec, kRoles, config.text_vocab);
  const std::string codec_dir = join_path(spec.dir, "speech_tokenizer");
  const std::string codec = join_path(codec_dir, "config.json");
  const auto open = [spec](const std::string& dir) {
    return weights_at(spec, dir, [](const std::string& name) {
      return name.starts_with("speaker_encoder.") || name.starts_with("encoder.");
    });
  };
  return {std::move(config),
          std::move(tokenizer),
          codec,
          spec.dummy && !is_file(codec) ? std::nullopt : std::optional(Config::load(codec)),
          [=] { return open(spec.dir); },
          [=] { return open(codec_dir); }};
}

Checkpoint open_gguf(const LoadSpec& spec) {
  const auto file = std::make_shared<const GgufFile>(spec.dir);
  const auto codec = std::make_shared<const GgufFile>(codec_beside(spec.dir));
  ModelConfig config = load_model_config(gguf_config(*file));
  config.defaults = load_defaults(gguf_generation(*file));
  const auto open = [dummy = spec.dummy](auto stored, const std::shared_ptr<const GgufFile>& from) {
    return dummy ? dummy_weights() : stored(from);
  };
  return {std::move(config),
          llm::load_gguf_tokenizer(*file, "qwen2"),
          codec->path(),
          gguf_codec_config(*codec),
          [=] { return open(gguf_model_weights, file); },
          [=] { return open(gguf_codec_weights, codec); }};
}

}  // namespace

Checkpoint open_checkpoint(const LoadSpec& spec) {
  return spec.dir.ends_with(llm::kGgufEnd) ? open_gguf(spec) : open_published(spec);
}

}  // namespace syrinx::qwen3_tts
