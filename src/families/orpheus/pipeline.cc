#include "families/orpheus/pipeline.h"

#include <filesystem>

#include "base/check.h"
#include "codec/snac.h"
#include "families/llm/checkpoint.h"
#include "families/llm/gguf.h"
#include "families/llm/language_model.h"
#include "families/loading/checkpoint.h"
#include "families/loading/own_codec.h"
#include "io/file.h"

namespace syrinx::orpheus {
namespace {

constexpr const char* kCodec = "hubertsiuzdak/snac_24khz";

/// Latent frames, of 21 ms each. A later chunk is a frame of tokens.
constexpr ChunkSizes kChunks{2, 4};

/// Returns the codec's sizes, with the strides that the order of Orpheus' tokens requires.
SnacConfig load_sizes(const Config& root) {
  SnacConfig sizes = SnacConfig::load(root);
  root.check("vq_strides", sizes.strides == SnacConfig().strides,
             "expected 4, 2 and 1, which the order of Orpheus' tokens requires");
  return sizes;
}

}  // namespace

Orpheus::Orpheus(const LoadSpec& spec) {
  const std::string words[] = {kBegin, kTurnEnd,  kSpeech,    kHuman,
                               kAi,    kHumanEnd, kSpeechEnd, kFirstCode};
  llm::StoredModel files = llm::open_model(spec, words);
  const bool one_file = spec.dir.ends_with(llm::kGgufEnd);
  const std::string path = one_file ? spec.dir : join_path(spec.dir, "config.json");
  const std::string place = std::filesystem::path(path).parent_path().string();
  auto codec = load_own_codec(spec, place, kCodec, SnacConfig(), load_sizes, load_snac);
  tokenizer_ = std::make_unique<Tokenizer>(std::move(files.tokenizer));
  edition_ = &edition_of(*tokenizer_, concat(spec.model, " ", spec.dir));
  config_ = config_of(files.config, *tokenizer_, *edition_, codec->config().codebook_size, path);
  weights_ = std::make_unique<Weights>(std::move(files.weights));
  const int32_t begin = config_.end_of_speech;
  auto lm = load_part(spec, "ar", *weights_, [&] {
    return llm::load_language_model(config_, *weights_, spec.weights, -1,
                                    {begin, begin + config_.audio_ids()});
  });
  move_networks(spec, "ar", *lm, "codec", *codec);
  spoken_ = spoken_model(config_, *edition_);
  name("orpheus", spec, edition_->licence);
  std::vector<VoiceInfo> voices;
  for (const std::string& name : edition_->voices)
    voices.push_back({name, concat("a voice of ", edition_->name)});
  if (edition_->cleaned) voices.push_back({kNoVoice, "no voice name before the text"});
  set_voices(info_, std::move(voices));
  if (edition_->description) info_.offers.add("instructions");
  info_.speech.languages = {edition_->language};
  join(std::move(lm), std::move(codec), kChunks);
}

}  // namespace syrinx::orpheus
