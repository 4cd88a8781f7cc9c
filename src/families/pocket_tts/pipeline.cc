#include "families/pocket_tts/pipeline.h"

#include <algorithm>

#include "codec/mimi_layers.h"
#include "families/codec_stage.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/pocket_tts/state.h"
#include "io/file.h"

namespace syrinx::pocket_tts {
namespace {

/// Chunks of one frame, then of four; a frame is 80 ms.
constexpr ChunkPolicy kPolicy{1, 4, 0, 0};
constexpr const char* kNoVoice = "default";  // name of a voice that the model makes up

/// Returns value `at` of torch.linspace(0, 1, count).
float fade_in(int64_t at, int64_t count) {
  const float step = 1.f / static_cast<float>(count - 1);
  return 2 * at < count ? step * static_cast<float>(at)
                        : 1.f - step * static_cast<float>(count - 1 - at);
}

/// Returns whether a tensor is missing or all zeros. In the edition without voice cloning, the
/// encoder's tensors are zeros.
bool all_zeros(const Weights& scope, const std::string& name) {
  const std::optional<Shape> shape = scope.shape(name);
  if (!shape) return true;
  const Tensor numbers = scope.f32(name, *shape);
  return std::all_of(numbers.f32(), numbers.f32() + shape->count(), [](float x) { return x == 0; });
}

}  // namespace

LatentStage::LatentStage(const ModelConfig& config, const Weights& root, WeightType type)
    : config_(config) {
  const Weights lm = root.scope("flow_lm"), codec = root.scope("mimi");
  deviation_ = lm.f32("emb_std", {config.latent});
  mean_ = lm.f32("emb_mean", {config.latent});
  const WeightType kept = codec_weights(type);
  out_ = mimi::load_projection(codec.scope("quantizer"), "output_proj", config.latent,
                               config.decoder.hidden, kept);
  decoder_ = MimiLatentDecoder(config.decoder, codec, kept);
}

void LatentStage::move_to(Device device) { syrinx::move_to(device, out_, decoder_); }

std::unique_ptr<StreamState> LatentStage::open(Bundle) const {
  return std::make_unique<CodecStream>(decoder_.open());
}

void LatentStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<FrameJob> outputs = take_array<FrameJob>(ctx, std::ssize(jobs));
  // The first sample of each job.
  const std::span<int64_t> begins = take_array<int64_t>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    CodecState& state = static_cast<CodecStream*>(jobs[i].state)->state;
    outputs[i] = {&state, jobs[i].fresh, jobs[i].out};
    begins[i] = state.frames * config_.decoder.hop();
  }
  const int64_t width = config_.latent;
  decoder_.run(ctx, outputs, [&](const CodecPass& pass) {
    const View latent = take_rows(ctx, pass.frames(), config_.decoder.hidden);
    const Arena::Mark pass_mark(ctx.arena), pass_host_mark(ctx.host);
    const View rows = ctx.host.take({pass.frames(), width}, DType::kF32);
    for (const PassPart& part : pass.parts()) {
      const ChunkJob& job = jobs[part.job];
      const float* from = job.values.data() + (job.left + part.from) * width;
      float* to = rows.f32() + part.begin * width;
      for (int64_t i = 0; i < part.frames * width; ++i)
        to[i] = from[i] * deviation_.f32()[i % width] + mean_.f32()[i % width];
    }
    linear(ctx, out_, upload(ctx, rows), latent);
    return latent;
  });
  synchronize(ctx);
  const int64_t rising = config_.decoder.sample_rate / 200;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int64_t end = std::min(rising, begins[i] + std::ssize(jobs[i].out));
    for (int64_t at = begins[i]; at < end; ++at)
      jobs[i].out[size_t(at - begins[i])] *= fade_in(at, rising);
  }
}

PocketTts::PocketTts(const LoadSpec& spec)
    : config_(load_model_config(join_path(spec.dir, kMarker))) {
  const bool words = !spec.dummy || is_file(join_path(spec.dir, "tokenizer.model")) ||
                     is_file(join_path(spec.dir, "tokenizer.json"));
  reader_ = std::make_unique<TextReader>(config_,
                                         words ? Unigram::load(spec.dir) : Unigram::characters());
  weights_ = std::make_unique<Weights>(weights_at(spec, join_path(spec.dir, "model.safetensors")));
  weights_->build(
      [&] {
        lm_ = spec.part("ar", [&] {
          return std::make_unique<FlowLm>(config_, weights_->scope("flow_lm"), spec.weights);
        });
        stage_ = spec.part("codec", [&] {
          return std::make_unique<LatentStage>(config_, *weights_, spec.weights);
        });
      },
      {"flow_lm.speaker_proj_weight", "mimi.encoder.*", "mimi.encoder_transformer.*",
       "mimi.downsample.*"});
  move_networks(spec, "ar", *lm_, "codec", *stage_);
  const Link links[] = {{"codec", stage_.get(), kPolicy}};
  graph_ = chain(*lm_, links);
  load_voices(spec);
  describe(spec);
}

void PocketTts::load_voices(const LoadSpec& spec) {
  files_ = open_voices(config_, spec.dir);
  const Weights lm = weights_->scope("flow_lm"), codec = weights_->scope("mimi");
  info_.speech.no_cloning =
      "model.safetensors has zeros for the encoder of recordings (mimi.encoder, "
      "flow_lm.speaker_proj_weight): it is the edition without voice cloning";
  if (!spec.dummy &&
      (all_zeros(lm, "speaker_proj_weight") || all_zeros(codec, "encoder.model.0.conv.weight"))) {
    return;
  }
  voices_ = make_voices(config_, [root = *weights_, config = config_] {
    auto networks = std::make_unique<VoiceNetworks>();
    const Weights encoder = root.scope("mimi"), projection = root.scope("flow_lm");
    networks->encoder = MimiLatentEncoder(config.encoder, encoder);
    networks->project = PackedLinear::pack(
        projection.take("speaker_proj_weight", {config.lm.hidden, config.encoder.encoded}),
        WeightType::kF32);
    root.finish({"flow_lm.*", "mimi.*"});
    return networks;
  });
}

void PocketTts::describe(const LoadSpec& spec) {
  name("pocket_tts", spec, "CC-BY-4.0");
  set_rates(info_, config_.decoder.sample_rate, config_.decoder.hop());
  // The default voices of the authors' code, one per language (pocket_tts/default_parameters.py).
  files_->add_to(info_, "a voice from the checkpoint's folder embeddings/",
                 {"alba", "giovanni", "lola", "juergen", "rafael", "estelle", "daan"});
  if (files_->empty()) set_voices(info_, {{kNoVoice, "a voice that the model makes up"}});
  lack_draws(info_);
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kSentence;
  const MimiConfig& codec = config_.decoder;
  info_.parts = {{"language model", describe_decoder(config_.lm), lm_->bytes()},
                 {"head",
                  concat(config_.flow_blocks, " blocks of ", config_.flow_width, ", one step for ",
                         config_.latent, " numbers"),
                  lm_->head_bytes()},
                 {"table",
                  concat(config_.vocab + 1, " ids x ",
                         config_.rank > 0 ? config_.rank : int64_t{config_.lm.hidden}),
                  lm_->table_bytes()},
                 {"codec",
                  concat("Mimi, ", config_.latent, " numbers to ", codec.hop(), " samples at ",
                         codec.sample_rate, " Hz"),
                  stage_->bytes()}};
}

Result<std::shared_ptr<const VoiceRows>> PocketTts::voice_of(const RequestVoice& voice) const {
  if (voice.data) return rows_of(config_, *lm_, *voice.data);
  const std::string& name = voice.name.empty() ? info_.speech.default_voice : voice.name;
  if (name == kNoVoice && !files_->has(name)) return std::shared_ptr<const VoiceRows>();
  return files_->find(info_, voice);
}

Result<Opened> PocketTts::open(const SpeechRequest& request) const {
  auto voice = voice_of(request.voice);
  if (!voice) return voice.error();
  return opened(State::open(config_, *reader_, *lm_, voice.take(), request));
}

}  // namespace syrinx::pocket_tts
