#include "families/higgs/pipeline.h"

#include "codec/xcodec_encoder.h"
#include "families/loading/checkpoint.h"
#include "families/loading/recorded_voice.h"
#include "families/loading/tokenizer.h"
#include "io/file.h"

namespace syrinx::higgs {
namespace {

constexpr ChunkSizes kChunks{2, 8};  // a frame is 40 ms
constexpr const char* kCodecScope = "tied.embedding.modality_embeddings.0.model";

/// Loads the language model: a Qwen3 decoder that reads text ids and steps of codes. The head of
/// each codebook is tied with its table
/// (sglang-omni:sglang_omni/models/higgs_tts/{model,modeling}.py).
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  CodecLmParts parts = lm_parts(config.lm, weights.scope("body"), type, config.max_positions);
  const int64_t width = config.lm.hidden, rows = config.codebooks * config.codes;
  const Weights tied = weights.scope("tied"), scope = tied.scope("embedding");
  parts.tables = {scope.take("text_embedding.weight", {config.vocab, width})};
  const View all = scope.take("modality_embeddings.0.embedding.weight", {rows, width});
  for (const View& table : tables_in(all, config.codebooks)) {
    parts.tables.push_back(table);
    parts.heads.push_back(tied_head(table, type));
  }
  tied.ignore("head.*");  // these heads are copies of the tables
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace

Higgs::Higgs(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  const std::string words[] = {kTts, kRefAudio, kRefText, kText, kAudio};
  tokenizer_ = std::make_unique<Tokenizer>(open_tokenizer(spec, words, config_.vocab));
  for (const char* word : {kTts, kRefAudio, kText, kAudio}) tokenizer_->need_id(word);
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  const Weights codec = weights_->scope(kCodecScope);
  XCodecConfig sizes = XCodecConfig::of(codec, XCodecConfig::higgs());
  // The codec of another model has tensors that do not fit these sizes, so loading it fails.
  sizes.codec.codebooks = config_.codebooks;
  sizes.codec.codebook_size = config_.real_codes();
  std::unique_ptr<CodecLm> lm;
  std::unique_ptr<DacCodec> decoder;
  weights_->build([&] {
    lm = spec.part("ar", [&] { return load_lm(config_, *weights_, spec.weights); });
    decoder = spec.part("codec", [&] {
      return std::make_unique<DacCodec>(load_xcodec(sizes, codec, codec_weights(spec.weights)));
    });
  });
  move_networks(spec, "ar", *lm, "codec", *decoder);
  if (spec.dummy || codec.has("fc.weight")) {
    voices_ = voices_of_frames<XCodecEncoder>({.family = kFamily,
                                               .version = "1",
                                               .modes = {{"in-context", false}},
                                               .min_s = 1,
                                               .max_s = kMostSeconds},
                                              sizes.codec.sample_rate, sizes, codec);
  }
  spoken_ = spoken_model(config_);
  name(kFamily, spec,
       "Boson Higgs Audio v3 Research and Non-Commercial License (see the checkpoint)");
  set_voices(info_, {{"default", "a voice that the model makes up, another for each seed"}});
  info_.speech.languages = {"auto"};
  info_.offers.lack({"instructions"}, "write tags into the text, such as <|emotion:sadness|>");
  info_.speech.no_cloning =
      "the checkpoint has no encoder (acoustic_encoder.*, semantic_model.*, fc.*)";
  join(std::move(lm), std::move(decoder), kChunks);
}

}  // namespace syrinx::higgs
