#include "codec/s3_flow.h"

#include <algorithm>
#include <cmath>

#include "codec/dit_estimator.h"
#include "codec/s3_flow_estimator.h"
#include "tensor/absent.h"

namespace syrinx {

S3Flow::S3Flow(const S3FlowConfig& config, const Weights& weights, WeightType type,
               int64_t max_frames)
    : config_(config),
      schedule_(config.mean_flow ? even_schedule(config.steps) : cosine_schedule(config.steps)) {
  {
    // The speaker projection is kept even if streams run in another process, because this process
    // may make voices.
    const AbsentTensors kept(false);
    speaker_ = load_linear(weights, "spk_embed_affine_layer", config.mel, config.speaker, true,
                           WeightType::kF32);
  }
  type = for_many_rows(type);
  encoder_ = std::make_unique<S3FlowEncoder>(config, weights, type);
  const Weights estimator = weights.scope("decoder.estimator");
  if (config.dit) {
    estimator_ =
        std::make_unique<DitEstimator>(config, estimator, schedule_.times, type, max_frames);
  } else {
    estimator_ = std::make_unique<S3FlowEstimator>(config, estimator, schedule_, type, max_frames);
  }
}

S3FlowState S3FlowState::clone() const {
  S3FlowState copy(voice_, encoder_.clone(), estimator_.clone());
  copy.tokens_ = tokens_;
  return copy;
}

std::shared_ptr<const S3FlowVoice> S3Flow::voice(std::vector<int32_t> tokens, Tensor mel,
                                                 std::span<const float> speaker) const {
  const auto least = static_cast<int64_t>(tokens.size()) * config_.ratio;
  const int64_t frames = mel.view().count() / config_.mel;
  if (least > 0) expect_shape("s3_flow voice", mel, {frames, config_.mel});
  SYRINX_CHECK(frames >= least && frames < least + config_.ratio, "[s3_flow] ", frames,
               " frames do not match a voice of ", tokens.size(), " tokens");
  SYRINX_CHECK(static_cast<int64_t>(speaker.size()) == config_.speaker,
               "[s3_flow] the speaker has ", speaker.size(), " values, expected ", config_.speaker);
  double power = 0;
  for (const float value : speaker) power += double{value} * value;
  const double length = std::max(std::sqrt(power), 1e-12);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const View unit = arena.take({1, config_.speaker}, DType::kF32);
  for (size_t i = 0; i < speaker.size(); ++i) {
    unit.f32()[i] = static_cast<float>(speaker[i] / length);
  }
  auto voice = std::make_shared<S3FlowVoice>();
  voice->tokens = std::move(tokens);
  voice->mel = std::move(mel);
  voice->speaker = Tensor({config_.mel}, DType::kF32);
  linear(ctx, speaker_, unit, voice->speaker.view().reshape({1, config_.mel}));
  return voice;
}

S3FlowState S3Flow::open(StepContext& ctx, std::shared_ptr<const S3FlowVoice> voice,
                         const S3FlowNoise& noise) const {
  if (config_.whole_prompt) return open_whole(ctx, voice, noise);
  S3FlowState state(voice, encoder_->open(), estimator_->open());
  std::vector<float> none;
  run(ctx, voice->tokens, false, noise, state, none);
  SYRINX_CHECK(none.empty(), "[s3_flow] the prompt must not yield frames of speech");
  return state;
}

S3FlowState S3Flow::open_whole(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice,
                               const S3FlowNoise& noise) const {
  std::vector<int32_t> tokens = voice->tokens;
  const int64_t count = std::ssize(tokens);
  SYRINX_CHECK(count >= config_.lookahead,
               "[s3_flow] the prompt is shorter than the lookahead: ", count, " tokens");
  S3FlowState state(voice, encoder_->open(std::max(count, config_.longest_chunk())),
                    estimator_->open());
  for (int64_t i = 0; i < config_.lookahead; ++i) tokens.push_back(voice->tokens[i]);
  encoder_->push(ctx, tokens, false, state.encoder_);
  encoder_->drop_waiting(state.encoder_);
  state.tokens_ = count;
  std::vector<float> none;
  encode_and_solve(ctx, count, noise, state, none);
  return state;
}

int64_t S3Flow::spare_frames(const S3FlowVoice& voice) const {
  return voice.mel.view().count() / config_.mel -
         static_cast<int64_t>(voice.tokens.size()) * config_.ratio;
}

int64_t S3Flow::certain(int64_t tokens) const {
  return std::max<int64_t>(0, tokens - config_.lookahead) / config_.chunk * config_.chunk;
}

void S3Flow::run(StepContext& ctx, std::span<const int32_t> tokens, bool last,
                 const S3FlowNoise& noise, S3FlowState& state, std::vector<float>& mel) const {
  encoder_->push(ctx, tokens, last, state.encoder_);
  state.tokens_ += static_cast<int64_t>(tokens.size());
  for (;;) {
    const int64_t there = state.encoder_.ready.rows();
    const bool rest = last && there <= config_.longest_chunk();
    const int64_t ready = rest ? there : std::min(there, config_.chunk);
    if (ready == 0 || (ready < config_.chunk && !last)) return;
    encode_and_solve(ctx, ready, noise, state, mel);
  }
}

void S3Flow::whole(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice,
                   std::span<const int32_t> tokens, const S3FlowNoise& noise,
                   std::vector<float>& mel) const {
  std::vector<int32_t> all = voice->tokens;
  all.insert(all.end(), tokens.begin(), tokens.end());
  const auto count = static_cast<int64_t>(all.size());
  S3FlowState state(voice, encoder_->open(count), estimator_->open(true));
  encoder_->push(ctx, all, true, state.encoder_);
  encode_and_solve(ctx, count, noise, state, mel);
}

/// Encodes the next `tokens` ready tokens as one chunk, and computes their mel frames.
void S3Flow::encode_and_solve(StepContext& ctx, int64_t tokens, const S3FlowNoise& noise,
                              S3FlowState& state, std::vector<float>& mel) const {
  Arena::Mark mark(ctx.arena);
  const View mean = encoder_->encode(ctx, tokens, state.encoder_);
  const View out = ctx.arena.take(mean.shape, DType::kF32);
  const int64_t before = state.estimator_.frames;
  const int64_t prompt = static_cast<int64_t>(state.voice_->tokens.size()) * config_.ratio;
  solve(ctx, mean, noise, state, out);
  const int64_t skip = std::clamp<int64_t>(prompt - before, 0, mean.shape[0]);
  mel.insert(mel.end(), out.f32() + skip * config_.mel, out.f32() + out.count());
}

/// Computes the mel of the next chunk from noise, by Euler's method. out [F, M].
void S3Flow::solve(StepContext& ctx, const View& mean, const S3FlowNoise& noise, S3FlowState& state,
                   const View& out) const {
  const int64_t frames = mean.shape[0], m = config_.mel, width = estimator_->in();
  const int64_t before = state.estimator_.frames;
  const int64_t branches = config_.branches();
  const View x = ctx.arena.take({branches * frames, width}, DType::kF32);
  const View slope = ctx.arena.take({branches * frames, m}, DType::kF32);
  const S3FlowVoice& voice = *state.voice_;
  const int64_t prompt = voice.mel.view().count() / m;
  // The columns are x, mean, speaker and prompt. Without conditions, all but x are zero.
  std::fill_n(x.f32(), x.count(), 0.f);
  for (int64_t f = 0; f < frames; ++f) {
    float* row = x.f32() + f * width;
    std::copy_n(mean.f32() + f * m, m, row + m);
    std::copy_n(voice.speaker.f32(), m, row + 2 * m);
    if (before + f < prompt) std::copy_n(voice.mel.f32() + (before + f) * m, m, row + 3 * m);
    noise(before + f, {out.f32() + f * m, static_cast<size_t>(m)});
  }
  estimator_->begin(frames, state.estimator_);
  for (int64_t s = 0; s < config_.steps; ++s) {
    for (int64_t row = 0; row < branches * frames; ++row) {
      std::copy_n(out.f32() + row % frames * m, m, x.f32() + row * width);
    }
    estimator_->run(ctx, s, x, state.estimator_, slope);
    const float g = config_.guidance;
    for (int64_t i = 0; i < frames * m; ++i) {
      const float conditioned = slope.f32()[i];
      const float direction =
          branches == 1 ? conditioned : (1 + g) * conditioned - g * slope.f32()[frames * m + i];
      out.f32()[i] += schedule_.deltas[s] * direction;
    }
  }
  estimator_->end(frames, state.estimator_);
}

size_t S3Flow::bytes_per_second() const {
  return estimator_->bytes_per_group() * 50 / static_cast<size_t>(KvPool::kPageRows);
}

}  // namespace syrinx
