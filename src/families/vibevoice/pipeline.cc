#include "families/vibevoice/pipeline.h"

#include <algorithm>

#include "families/codec_stage.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/vibevoice/state.h"
#include "io/file.h"

namespace syrinx::vibevoice {
namespace {

/// Chunks of one frame, then of two; a frame is 133 ms.
constexpr ChunkPolicy kPolicy{1, 2, 0, 0};
constexpr const char* kUsual = "en-Carter_man";  // voice of the authors' demo

}  // namespace

VaeStage::VaeStage(const ModelConfig& config, const Weights& model, WeightType type)
    : config_(config),
      // Two fifths of the model's weights are here, so they are quantized, too (8 bits or more).
      decoder_(config.vae, model.scope("acoustic_tokenizer.decoder"), at_least_8_bits(type)) {
  factor_ = model.f32("speech_scaling_factor", {}).f32()[0];
  bias_ = model.f32("speech_bias_factor", {}).f32()[0];
}

std::unique_ptr<StreamState> VaeStage::open(Bundle) const {
  return std::make_unique<CodecStream>(decoder_.open());
}

void VaeStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.host);
  const std::span<syrinx::LatentJob> inner = take_array<syrinx::LatentJob>(ctx, std::ssize(jobs));
  const auto width = static_cast<size_t>(in_width());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ChunkJob& job = jobs[i];
    const auto from = job.values.subspan(static_cast<size_t>(job.left) * width,
                                         static_cast<size_t>(job.fresh) * width);
    const View latents = ctx.host.take({job.fresh, in_width()}, DType::kF32);
    for (size_t k = 0; k < from.size(); ++k) latents.f32()[k] = from[k] / factor_ - bias_;
    inner[i] = {
        &static_cast<CodecStream*>(job.state)->state, {latents.f32(), from.size()}, job.out};
  }
  decoder_.run(ctx, inner);
}

VibeVoice::VibeVoice(const LoadSpec& spec)
    : config_(load_model_config(Config::load(join_path(spec.dir, "config.json")))) {
  if (!spec.dummy && !has_tokenizer(spec.dir)) {
    load_fault(spec.dir, "",
               "VibeVoice-Realtime needs the tokenizer of Qwen/Qwen2.5-0.5B: copy its "
               "tokenizer.json and tokenizer_config.json into this directory");
  }
  tokenizer_ = std::make_unique<Tokenizer>(open_tokenizer(spec, {}, config_.vocab));
  weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
  const Weights model = weights_->scope("model");
  weights_->build(
      [&] {
        lm_ = spec.part(
            "ar", [&] { return std::make_unique<SpeechLm>(config_, *weights_, spec.weights); });
        stage_ = spec.part(
            "vae", [&] { return std::make_unique<VaeStage>(config_, model, spec.weights); });
      },
      {"model.acoustic_tokenizer.encoder.*", "model.tts_language_model.embed_tokens.*",
       "model.language_model.norm.*"});
  move_networks(spec, "ar", *lm_, "vae", *stage_);
  const Link links[] = {{"vae", stage_.get(), kPolicy}};
  graph_ = chain(*lm_, links);
  load_voices(spec);
  describe(spec);
}

void VibeVoice::load_voices(const LoadSpec& spec) {
  files_ = open_voices(config_, spec.dir);
  files_->publish(
      spec, info_, {kUsual}, [this] { return random_voice(config_); }, "voices",
      "copy demo/voices/streaming_model/*.pt of the repository microsoft/VibeVoice into it");
  info_.offers.add("guidance");
  lack_draws(info_);
  info_.speech.no_cloning =
      "VibeVoice-Realtime has only the voices that its authors publish, as KV caches";
}

void VibeVoice::describe(const LoadSpec& spec) {
  name("vibevoice", spec, "MIT");
  set_rates(info_, ModelConfig::kSampleRate, config_.vae.hop());
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kToken;
  info_.parts = {{"text model", describe_decoder(config_.text), lm_->text_bytes()},
                 {"speech model", describe_decoder(config_.speech), lm_->speech_bytes()},
                 {"connector, end", concat(config_.latent(), " numbers to ", config_.hidden()),
                  lm_->joint_bytes()},
                 {"diffusion head",
                  concat(config_.head_layers, " layers, ", ModelConfig::kSolverSteps, " steps for ",
                         config_.latent(), " numbers"),
                  lm_->head_bytes()},
                 {"table", concat(config_.vocab, " ids x ", config_.hidden()), lm_->table_bytes()},
                 {"vae",
                  concat(config_.latent(), " numbers to ", config_.vae.hop(), " samples at ",
                         ModelConfig::kSampleRate, " Hz"),
                  stage_->bytes()}};
}

Result<Opened> VibeVoice::open(const SpeechRequest& request) const {
  auto voice = files_->find(info_, request.voice);
  if (!voice) return voice.error();
  return opened(State::open(config_, *tokenizer_, voice.take(), request));
}

}  // namespace syrinx::vibevoice
