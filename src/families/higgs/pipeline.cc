#include "families/higgs/pipeline.h"

#include "base/check.h"
#include "families/higgs/script.h"
#include "families/higgs/voice.h"
#include "families/weight_files.h"
#include "io/file.h"
#include "nn/cache_type.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::higgs {
namespace {

/// Fresh frames of the chunks, 40 ms each.
constexpr int kInitialFrames = 2, kSteadyFrames = 8;
constexpr const char* kCodecScope = "tied.embedding.modality_embeddings.0.model";

/// What turns recordings into frames, which is loaded when one comes.
const NamePatterns kOnlyHears{"acoustic_encoder.*", "encoder_semantic.*", "semantic_model.*",
                              "fc.*", "quantizer.quantizers.*.project_in.*"};

/// A Qwen3 decoder over ids of text and steps of codes, with a head for every codebook, tied with
/// its table (sglang-omni:sglang_omni/models/higgs_tts/{model,modeling}.py).
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  Decoder decoder(config.lm, weights.scope("body"), type);
  const int64_t width = config.lm.hidden, v = config.codes;
  const Weights tied = weights.scope("tied"), scope = tied.scope("embedding");
  std::vector<View> tables{scope.take("text_embedding.weight", {config.vocab, width})};
  std::vector<StreamHead> heads;
  const View all =
      scope.take("modality_embeddings.0.embedding.weight", {config.codebooks * v, width});
  for (int64_t c = 0; c < config.codebooks; ++c) {
    const View& table = tables.emplace_back(all.slice(c * v, (c + 1) * v));
    heads.emplace_back().parts.push_back(PackedLinear::pack(table, at_least_8_bits(type)));
  }
  tied.ignore("head.*");  // copies
  const KvSpec kv = config.lm.kv_spec(cache_type(type));
  return std::make_unique<CodecLm>(CodecLmParts{std::move(decoder), std::move(tables),
                                                std::move(heads), kv, config.max_positions});
}

Tokenizer load_tokenizer(const LoadSpec& spec, const ModelConfig& config) {
  if (!spec.dummy || is_file(join_path(spec.dir, "tokenizer.json"))) {
    return Tokenizer::load(spec.dir);
  }
  const std::vector<std::string> words = Prompter::control_words();
  if (config.vocab < byte_ids(words)) {
    throw LoadError(concat("text_config.vocab_size is ", config.vocab,
                           "; dummy weights without a tokenizer need ", byte_ids(words)));
  }
  return byte_tokenizer(words);
}

}  // namespace

Higgs::Higgs(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  prompter_ = std::make_unique<Prompter>(config_, load_tokenizer(spec, config_));
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  const Weights codec = weights_->scope(kCodecScope);
  XCodecConfig sizes = XCodecConfig::of(codec, XCodecConfig::higgs());
  sizes.codec.codebooks =
      config_.codebooks;  // so that a codec of others has tensors that do not fit
  sizes.codec.codebook_size = config_.real_codes();
  for (const std::string& pattern : kOnlyHears) codec.ignore(pattern);
  // Convolutions have no 8-bit form.
  const WeightType type = spec.weights == WeightType::kF32 ? WeightType::kF32 : WeightType::kBF16;
  weights_->build([&] {
    {
      const AbsentTensors part = spec.part("ar");
      lm_ = load_lm(config_, *weights_, spec.weights);
    }
    const AbsentTensors part = spec.part("codec");
    codec_ = std::make_unique<DacCodec>(load_xcodec(sizes, codec, type));
  });
  if (spec.dummy || codec.has("fc.weight")) {
    voices_ = std::make_unique<VoiceMaker>([codec, sizes] {
      std::unique_ptr<XCodecEncoder> encoder;
      codec.build([&] { encoder = std::make_unique<XCodecEncoder>(sizes, codec); });
      return encoder;
    });
  }
  spoken_ = spoken_model(config_);
  stage_ = std::make_unique<DacStage>(*codec_);
  const int lookahead = static_cast<int>(codec_->config().lookahead());
  const Link links[] = {{"codec", stage_.get(), {kInitialFrames, kSteadyFrames, 0, lookahead}}};
  graph_ = chain(*lm_, links);
  describe(spec);
}

void Higgs::describe(const LoadSpec& spec) {
  const DacCodecConfig& codec = codec_->config();
  info_.family = kFamily;
  info_.model = spec.model;
  info_.licence = "Boson Higgs Audio v3 Research and Non-Commercial License (see the checkpoint)";
  info_.sample_rate = static_cast<int>(codec.sample_rate);
  info_.frame_rate = static_cast<double>(codec.sample_rate) / static_cast<double>(codec.hop());
  info_.voices = {{"default", "a voice that the model makes up, another for each seed"}};
  info_.default_voice = "default";
  info_.languages = {"auto"};
  info_.late_text = LateText::kSentence;
  info_.no_cloning = "the checkpoint has no encoder (acoustic_encoder.*, semantic_model.*, fc.*)";
  const DecoderConfig& d = config_.lm;
  info_.parts = {
      {"language model",
       concat(d.layers, " layers, width ", d.hidden, ", heads ", d.heads, "/", d.kv_heads, " x ",
              d.head_dim, ", ffn ", d.ffn, ", ", config_.codebooks, " heads of ", config_.codes),
       lm_->bytes()},
      {"tables",
       concat(config_.vocab, " ids, ", config_.codebooks, " x ", config_.codes, " codes x ",
              d.hidden),
       lm_->table_bytes()},
      {"codec",
       concat(codec.codebooks, " x ", codec.codebook_size, " codes, ", codec.hop(),
              " samples a frame, looks ", codec.lookahead(), " ahead"),
       codec_->bytes()}};
}

Result<Opened> Higgs::open(const SpeechRequest& request) const {
  return SpokenSequence::open(spoken_, script_of(config_, *prompter_, info_.frame_rate, request),
                              request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) { return std::make_shared<Higgs>(spec); }

}  // namespace syrinx::higgs
