#include "families/voxcpm2/pipeline.h"

#include <algorithm>

#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/voxcpm2/state.h"
#include "io/file.h"

namespace syrinx::voxcpm2 {
namespace {

/// Chunks of one patch, then of two; a patch is 160 ms.
constexpr ChunkPolicy kPolicy{1, 2, 0, 0};

struct VaeStream : StreamState {
  CodecState state;
  std::vector<float> context;  // [*, P * D], patches that are decoded before the first one
};

VaeStream& stream_of(const ChunkJob& job) { return *static_cast<VaeStream*>(job.state); }

/// Returns the scope of the networks' tensors: the root, or "state_dict" if the saving program used
/// that name.
Weights lm_scope(const Weights& root) {
  const Weights wrapped = root.scope("state_dict");
  return wrapped.count("base_lm.layers") > 0 ? wrapped : root;
}

}  // namespace

Bundle VaeStage::bundle(const Sequence& sequence) const {
  const std::span<const float> context = static_cast<const State&>(sequence).context();
  Bundle bundle;
  if (!context.empty()) bundle.set("context", std::vector<float>(context.begin(), context.end()));
  return bundle;
}

std::unique_ptr<StreamState> VaeStage::open(Bundle bundle) const {
  auto stream = std::make_unique<VaeStream>();
  stream->state = vae_.open();
  if (!bundle.has("context")) return stream;
  stream->context = bundle.floats("context");
  const size_t width = static_cast<size_t>(in_width()), size = stream->context.size();
  if (size % width != 0 || size > size_t{State::kContext} * width) {
    throw LoadError(concat("'context' has ", size, " numbers; expected whole patches, at most ",
                           State::kContext, ", of ", width));
  }
  return stream;
}

void VaeStage::hear_contexts(StepContext& ctx, std::span<const ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.host);
  const std::span<LatentJob> inner = take_array<LatentJob>(ctx, std::ssize(jobs));
  size_t count = 0;
  for (const ChunkJob& job : jobs) {
    VaeStream& stream = stream_of(job);
    if (stream.context.empty()) continue;
    const int64_t samples =
        std::ssize(stream.context) / config_.latent() * config_.vae.decoder_hop();
    const View unheard = ctx.host.take({samples}, DType::kF32);
    inner[count++] = {&stream.state, stream.context, {unheard.f32(), static_cast<size_t>(samples)}};
  }
  if (count > 0) {
    vae_.run(ctx, inner.first(count));
    synchronize(ctx);  // before the memory of `unheard` is released
  }
  for (const ChunkJob& job : jobs) stream_of(job).context.clear();
}

void VaeStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  hear_contexts(ctx, jobs);
  const Arena::Mark mark(ctx.host);
  const std::span<LatentJob> inner = take_array<LatentJob>(ctx, std::ssize(jobs));
  const auto width = static_cast<size_t>(in_width());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ChunkJob& job = jobs[i];
    inner[i] = {&stream_of(job).state, job.values.subspan(job.left * width, job.fresh * width),
                job.out};
  }
  vae_.run(ctx, inner);
}

VoxCpm2::VoxCpm2(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  prompter_ = std::make_unique<Prompter>(config_, open_tokenizer(spec));
  weights_ = std::make_unique<Weights>(plain_weights_at(spec, spec.dir));
  const Weights lm = lm_scope(*weights_);
  lm_ = load_part(spec, "ar", *weights_,
                  [&] { return std::make_unique<LatentLm>(config_, lm, spec.weights); });
  load_vae(spec);
  move_networks(spec, "ar", *lm_, "vae", *vae_);
  stage_ = std::make_unique<VaeStage>(config_, *vae_);
  const Link links[] = {{"vae", stage_.get(), kPolicy}};
  graph_ = chain(*lm_, links);
  describe(spec);
}

void VoxCpm2::load_vae(const LoadSpec& spec) {
  const std::string safe = join_path(spec.dir, "audiovae.safetensors");
  const std::string path = is_file(safe) ? safe : join_path(spec.dir, "audiovae.pth");
  vae_weights_ = std::make_unique<Weights>(plain_weights_at(spec, path));
  const Weights vae = audio_vae_scope(*vae_weights_);
  vae_ =
      load_part(spec, "vae", vae,
                [&] { return std::make_unique<AudioVaeDecoder>(config_.vae, vae, spec.weights); },
                {"encoder.*"});
  if (!spec.dummy && vae.count("encoder.block") == 0) return;
  voices_ = make_voices(config_, [vae, config = config_.vae] {
    std::unique_ptr<AudioVaeEncoder> encoder;
    vae.build([&] { encoder = std::make_unique<AudioVaeEncoder>(config, vae); });
    return encoder;
  });
}

void VoxCpm2::describe(const LoadSpec& spec) {
  const AudioVaeConfig& vae = config_.vae;
  name("voxcpm2", spec, "Apache-2.0");
  set_rates(info_, vae.out_sample_rate, config_.patch_samples());
  set_voices(info_, {{"default", "a voice that the model makes up"}});
  info_.speech.languages = {"auto"};
  info_.speech.late_text = LateText::kSentence;
  info_.offers.add({{"instructions"}, {"guidance"}});
  lack_draws(info_);
  info_.speech.no_cloning = "audiovae.pth has no encoder (encoder.*)";
  info_.parts = {
      {"base model", describe_decoder(config_.base), lm_->base_bytes()},
      {"residual model",
       describe_decoder(config_.residual) + (config_.residual.rotary ? "" : ", without angles"),
       lm_->residual_bytes()},
      {"fsq, fusion, stop", concat(config_.fsq_width, " numbers in steps of 1/", config_.fsq_scale),
       lm_->joint_bytes()},
      {"local encoder", describe_decoder(config_.encoder), lm_->encoder().bytes()},
      {"local transformer",
       concat(describe_decoder(config_.dit), ", ", LocalDit::kSolverSteps, " steps for ",
              config_.patch, " x ", config_.latent(), " numbers"),
       lm_->dit().bytes()},
      {"table", concat(config_.vocab, " ids x ", config_.base.hidden), lm_->table_bytes()},
      {"vae",
       concat(config_.latent(), " numbers to ", vae.decoder_hop(), " samples at ",
              vae.out_sample_rate, " Hz"),
       vae_->bytes()}};
}

Result<Opened> VoxCpm2::open(const SpeechRequest& request) const {
  if (const Status known = check_voice(info_, request.voice); !known) return known.error();
  return opened(State::open(config_, *prompter_, request));
}

}  // namespace syrinx::voxcpm2
