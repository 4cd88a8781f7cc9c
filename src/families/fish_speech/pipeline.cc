#include "families/fish_speech/pipeline.h"

#include <algorithm>

#include "families/fish_speech/script.h"
#include "families/recorded_voice.h"
#include "families/weight_files.h"
#include "io/file.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::fish_speech {
namespace {

/// A frame is 46 ms and costs the codec a small part of what it costs the networks.
constexpr ChunkPolicy kPolicy{1, 4, 0, 0};
constexpr int kListedSpeakers = 10;  // any other number is a speaker too
constexpr const char* kCodecFile = "codec.pth";

/// Tables of angles and masks that the authors' older code saved along: 305 MB.
const NamePatterns kStale{"*causal_mask", "*freqs_cis"};

NamePatterns for_cloning_only() {
  NamePatterns names{"encoder.*", "quantizer.pre_module.*", "quantizer.downsample.*",
                     "quantizer.*.in_proj.*"};
  names.insert(names.end(), kStale.begin(), kStale.end());
  return names;
}

Tokenizer load_tokenizer(const LoadSpec& spec, const ModelConfig& config) {
  const std::vector<std::string> words = Prompter::control_words();
  const bool none = !is_file(join_path(spec.dir, "tokenizer.json"));
  if (!spec.dummy || !none) return Tokenizer::load(spec.dir);
  if (config.vocab < byte_ids(words)) {
    throw LoadError(concat("text_config.vocab_size is ", config.vocab,
                           "; dummy weights without a tokenizer need ", byte_ids(words)));
  }
  return byte_tokenizer(words);
}

std::string stack_shape(const DecoderConfig& d) {
  return concat(d.layers, " layers, width ", d.hidden, ", heads ", d.heads, "/", d.kv_heads, " x ",
                d.head_dim, ", ffn ", d.ffn);
}

}  // namespace

FishSpeech::FishSpeech(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  Tokenizer tokenizer = load_tokenizer(spec, config_);
  if (spec.dummy) config_.end_token = tokenizer.id("<|im_end|>").value_or(config_.end_token);
  spoken_ = spoken_model(config_);
  prompter_ = std::make_unique<Prompter>(config_, std::move(tokenizer));
  weights_ = std::make_unique<Weights>(plain_weights_at(spec, spec.dir));
  weights_->build([&] {
    const AbsentTensors part = spec.part("ar");
    dual_ar_ = load_dual_ar(config_, *weights_, spec.weights);
  });
  load_codec(spec);
  stage_ = std::make_unique<FishStage>(*codec_);
  const Link links[] = {{"codec", stage_.get(), kPolicy}};
  graph_ = chain(*dual_ar_, links);
  describe(spec);
}

void FishSpeech::load_codec(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, kCodecFile);
  codec_weights_ = std::make_unique<Weights>(plain_weights_at(spec, path));
  const Weights codec = fish_codec_scope(*codec_weights_);
  FishCodecConfig config = FishCodecConfig::of(codec);
  if (spec.dummy) {  // of the published sizes, as far as the model's codes go
    config.codebooks = config_.codebooks;
    config.semantic_codes = std::min(config.semantic_codes, config_.codes);
    config.residual_codes = std::min(config.residual_codes, config_.codes);
  }
  codec.build(
      [&] {
        const AbsentTensors part = spec.part("codec");
        codec_ = std::make_unique<FishCodec>(config, codec, spec.weights);
      },
      for_cloning_only());
  if (config.codebooks != config_.codebooks) {
    throw LoadError(concat(path, ": has ", config.codebooks, " codebooks, the model makes ",
                           config_.codebooks));
  }
  if (config.semantic_codes > config_.codes || config.residual_codes > config_.codes) {
    throw LoadError(concat(path, ": has codebooks of ", config.semantic_codes, " and ",
                           config.residual_codes, " codes, the model knows ", config_.codes));
  }
  if (config.encodes) {
    VoiceEncoderInfo info{.family = "fish_speech",
                          .version = "2",
                          .modes = {{"in-context", true}},
                          .min_s = 1,
                          .max_s = 60};
    voices_ = std::make_unique<CodeVoices<FishEncoder>>(
        std::move(info), static_cast<int>(FishCodecConfig::kSampleRate),
        [this]() -> const FishEncoder& { return encoder(); });
  }
}

const FishEncoder& FishSpeech::encoder() const {
  std::call_once(encoder_once_, [&] {
    const Weights codec = fish_codec_scope(*codec_weights_);
    codec.build([&] { encoder_ = std::make_unique<FishEncoder>(codec_->config(), codec); }, kStale);
  });
  return *encoder_;
}

void FishSpeech::describe(const LoadSpec& spec) {
  const FishCodecConfig& codec = codec_->config();
  info_.family = "fish_speech";
  info_.model = spec.model;
  info_.licence = "Fish Audio Research License: no commercial use (see the checkpoint)";
  info_.sample_rate = static_cast<int>(FishCodecConfig::kSampleRate);
  info_.frame_rate =
      static_cast<double>(FishCodecConfig::kSampleRate) / static_cast<double>(codec.hop());
  for (int i = 0; i < kListedSpeakers; ++i) {
    info_.voices.push_back({concat(i), "a voice that the model makes up"});
  }
  info_.default_voice = "0";
  info_.languages = {"auto"};
  info_.late_text = LateText::kSentence;
  info_.phones = prompter_->says_phones();
  info_.context = true;
  info_.inner = true;
  info_.speaker_numbers = Prompter::kMaxSpeaker + 1;
  info_.no_cloning = "codec.pth has no encoder (encoder.*)";
  info_.parts = {
      {"slow network", stack_shape(config_.slow), dual_ar_->bytes()},
      {"fast network", stack_shape(config_.fast), dual_ar_->inner_bytes()},
      {"tables",
       concat(config_.vocab, " ids, ", config_.codebooks, " x ", config_.codes, " codes x ",
              config_.slow.hidden),
       dual_ar_->table_bytes()},
      {"codec",
       concat("1 x ", codec.semantic_codes, " + ", codec.codebooks - 1, " x ", codec.residual_codes,
              " codes, ", codec.post_layers, " layers, ", codec.hop(), " samples a frame"),
       codec_->bytes()}};
}

Result<Opened> FishSpeech::open(const SpeechRequest& request) const {
  return SpokenSequence::open(spoken_, script_of(config_, *prompter_, request), request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<FishSpeech>(spec);
}

}  // namespace syrinx::fish_speech
