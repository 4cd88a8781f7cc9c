#include "families/moss_tts/pipeline.h"

#include "codec/moss_encoder.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/recorded_voice.h"
#include "families/loading/tokenizer.h"
#include "families/moss_tts/state.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx::moss_tts {
namespace {

constexpr const char* kCodec = "OpenMOSS-Team/MOSS-Audio-Tokenizer";
constexpr const char* kCodecFolder = "MOSS-Audio-Tokenizer";
constexpr ChunkSizes kChunks{1, 6};  // as in the authors' server

/// Loads the small decoder of a frame, which makes all codes of the frame.
std::unique_ptr<InnerCodes> load_depth(const ModelConfig& config, const Weights& weights,
                                       WeightType type) {
  const int64_t hidden = config.depth.hidden, vocab = config.code_vocab();
  const Weights model = weights.scope("model");
  InnerCodesParts parts{.decoder = InnerDecoder(config.depth, model, type, config.codebooks),
                        .tables = {},
                        .heads = {}};
  for (int64_t k = 0; k < config.codebooks; ++k) {
    parts.heads.push_back(load_linear(weights, concat("local_lm_heads.", k), vocab, hidden, false,
                                      at_least_8_bits(type)));
    if (k + 1 == config.codebooks) break;
    parts.tables.push_back(model.scope("embed_tokens", k).take("weight", {vocab, hidden}));
  }
  return std::make_unique<InnerCodes>(std::move(parts));
}

/// Loads the language model. Tables: the table of text, then those of the C codebooks.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  const int64_t hidden = config.lm.hidden, vocab = config.code_vocab();
  CodecLmParts parts =
      lm_parts(config.lm, weights.scope("language_model"), type, config.max_positions);
  for (int64_t t = 0; t <= config.codebooks; ++t) {
    parts.tables.push_back(
        weights.scope("embed_tokens", t).take("weight", {t == 0 ? config.vocab : vocab, hidden}));
  }
  weights.ignore("language_model.embed_tokens.weight");  // unused: rows are sums of other tables
  parts.inner = load_depth(config, weights.scope("local_transformer"), type);
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace

MossTts::MossTts(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  const std::string words[] = {Prompter::kBegin, Prompter::kEnd};
  prompter_ = std::make_unique<Prompter>(config_, open_tokenizer(spec, words, config_.vocab));
  std::unique_ptr<MossCodec> codec = load_codec(spec);
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  lm_ = load_part(spec, "ar", *weights_, [&] { return load_lm(config_, *weights_, spec.weights); });
  move_networks(spec, "ar", *lm_, "codec", *codec);
  name("moss_tts", spec, "Apache-2.0");
  set_voices(info_, {{"default", "a voice that the model makes up"}});
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kToken;
  info_.speech.context = true;
  info_.parts = {
      {"language model", describe_decoder(config_.lm), lm_->bytes()},
      {"inner decoder", describe_decoder(config_.depth), lm_->inner_bytes()},
      {"tables", concat(lm_->tables(), " x width ", config_.lm.hidden), lm_->table_bytes()}};
  join_codec(*lm_, std::move(codec), kChunks);
}

/// Loads the codec's decoder, with only the codebooks that the model makes. The encoder is loaded
/// with the first recording.
std::unique_ptr<MossCodec> MossTts::load_codec(const LoadSpec& spec) {
  const std::string dir =
      spec.dummy ? join_path(spec.dir, kCodecFolder) : resolve_part(spec.dir, kCodec);
  const std::string path = join_path(dir, "config.json");
  MossCodecConfig codec = spec.dummy && !is_file(path) ? MossCodecConfig::published()
                                                       : MossCodecConfig::load(Config::load(path));
  if (codec.codebooks < config_.codebooks || codec.codebook_size < config_.pad_code) {
    load_fault(path, "quantizer_kwargs",
               concat("the codec has ", codec.codebooks, " codebooks of ", codec.codebook_size,
                      " codes, the model makes ", config_.codebooks, " of ", config_.pad_code));
  }
  const int64_t all = codec.codebooks;
  codec.codebooks = config_.codebooks;
  NamePatterns only_hears{"encoder.*", "quantizer.input_proj.*",
                          "quantizer.quantizers.*.in_proj.*"};
  NamePatterns only_speaks{"decoder.*", "quantizer.output_proj.*"};
  for (int64_t q = config_.codebooks; q < all; ++q) {  // codebooks that the model does not make
    only_hears.push_back(concat("quantizer.quantizers.", q, ".*"));
    only_speaks.push_back(only_hears.back());
  }
  const Weights weights(plain_weights_at(spec, dir));
  auto decoder = load_part(
      spec, "codec", weights,
      [&] { return std::make_unique<MossCodec>(codec, weights, at_least_8_bits(spec.weights)); },
      only_hears);
  const auto load = [spec, dir, codec, only_speaks] {
    const Weights again(plain_weights_at(spec, dir));
    std::unique_ptr<MossEncoder> encoder;
    again.build([&] { encoder = std::make_unique<MossEncoder>(codec, again); }, only_speaks);
    return encoder;
  };
  VoiceEncoderInfo info{
      .family = "moss_tts", .version = "1", .modes = {{"timbre", false}}, .min_s = 1, .max_s = 30};
  voices_ = voices_of_frames<MossEncoder>(std::move(info), codec.sample_rate, load);
  return decoder;
}

Result<Opened> MossTts::open(const SpeechRequest& request) const {
  if (const Status known = check_voice(info_, request.voice); !known) return known.error();
  Result<std::unique_ptr<Sequence>> sequence = State::open(config_, *prompter_, request);
  if (!sequence) return sequence.error();
  Opened opened(sequence.take());
  opened.kept = request.say.kept;
  return opened;
}

}  // namespace syrinx::moss_tts
