#include "families/omnivoice/pipeline.h"

#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/omnivoice/state.h"
#include "families/omnivoice/voice.h"
#include "io/file.h"

namespace syrinx::omnivoice {
namespace {

constexpr ChunkSizes kChunks{4, 16};  // a frame is 40 ms
constexpr const char* kCodec = "audio_tokenizer";

/// Returns the sizes of the codec, with the codebooks that the model speaks.
XCodecConfig codec_sizes(const LoadSpec& spec, const ModelConfig& config, const Weights& weights) {
  XCodecConfig sizes = XCodecConfig::of(weights, XCodecConfig::higgs());
  sizes.codec.codebooks = config.codebooks;
  sizes.codec.codebook_size = config.codes();
  const std::string file = join_path(spec.dir, join_path(kCodec, "config.json"));
  if (!is_file(file)) return sizes;  // random weights, or a copy without this file
  const Config root = Config::load(file);
  root.only("model_type", model_type(root) == "higgs_audio_v2_tokenizer",
            "higgs_audio_v2_tokenizer");
  root.same("sample_rate", sizes.codec.sample_rate, "the rate of the codec");
  return sizes;
}

}  // namespace

OmniVoice::OmniVoice(const LoadSpec& spec)
    : config_(load_model_config(Config::load(join_path(spec.dir, "config.json")))) {
  prompter_ =
      std::make_unique<Prompter>(open_tokenizer(spec, Prompter::control_words(), config_.vocab));
  weights_ = std::make_unique<Weights>(weights_at(spec, join_path(spec.dir, "model.safetensors")));
  codec_weights_ = std::make_unique<Weights>(
      weights_at(spec, join_path(spec.dir, join_path(kCodec, "model.safetensors"))));
  const XCodecConfig sizes = codec_sizes(spec, config_, *codec_weights_);
  lm_ = load_part(spec, "ar", *weights_,
                  [&] { return std::make_unique<CanvasLm>(config_, *weights_, spec.weights); });
  auto codec = load_part(spec, "codec", *codec_weights_, [&] {
    return std::make_unique<DacCodec>(
        load_xcodec(sizes, *codec_weights_, codec_weights(spec.weights)));
  });
  move_networks(spec, "ar", *lm_, "codec", *codec);
  if (spec.dummy || codec_weights_->has("fc.weight")) voices_ = make_voices(*codec_weights_, sizes);
  canvas_ = std::make_unique<CanvasStage>(*lm_);
  speech_ = std::make_unique<SpeechStage>(std::move(codec));
  Link decoding = speech_->link(kChunks);
  decoding.policy.lookahead = speech_->lookahead();
  graph_ = chain(*canvas_, {&decoding, 1});
  describe(spec);
}

void OmniVoice::describe(const LoadSpec& spec) {
  name(kFamily, spec, "Apache-2.0 (code; see the checkpoint)");
  const DacCodecConfig& codec = speech_->codec().config();
  set_rates(info_, codec.sample_rate, codec.hop());
  set_voices(info_, {{"default", "a voice that the model makes up, another for each seed"}});
  info_.speech.languages = languages();
  info_.speech.late_text = LateText::kSentence;
  info_.speech.no_cloning =
      "audio_tokenizer has no encoder (acoustic_encoder.*, semantic_model.*, fc.*)";
  info_.offers.add({{"instructions"}, {"guidance", {0, 20}}, {"speed", {0.25, 4}}});
  info_.offers.lack({"top_k", "top_p", "min_p", "repetition_penalty"},
                    "'temperature' draws among the likeliest tenth of the codes");
  info_.parts = {
      {"language model",
       concat(describe_decoder(config_.lm), ", ", kPasses, " passes over a canvas"), lm_->bytes()},
      {"tables",
       concat(config_.vocab, " ids, ", config_.codebooks, " x ", config_.choices, " codes x width ",
              config_.lm.hidden),
       lm_->table_bytes()},
      speech_->part()};
}

Result<Opened> OmniVoice::open(const SpeechRequest& request) const {
  if (const Status known = check_voice(info_, request.voice); !known) return known.error();
  Style style{.language = request.say.language};
  Result<std::string> attributes =
      designed_voice(request.say.instructions, has_chinese(request.say.text));
  if (!attributes) return attributes.error();
  style.attributes = attributes.take();
  Heard heard;
  if (request.voice.data) {
    Result<Heard> voice = heard_in(config_, *request.voice.data, info_.speech.frame_rate);
    if (!voice) return voice.error();
    heard = voice.take();
  }
  return opened(State::open(config_, *prompter_, info_.speech.frame_rate, std::move(style),
                            std::move(heard), request));
}

}  // namespace syrinx::omnivoice
