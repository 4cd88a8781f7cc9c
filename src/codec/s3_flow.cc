#include "codec/s3_flow.h"

#include <algorithm>
#include <cmath>

#include "codec/dit_estimator.h"
#include "codec/s3_flow_estimator.h"
#include "kernels/copy.h"
#include "kernels/solver.h"
#include "nn/stream_pass.h"
#include "tensor/absent.h"

namespace syrinx {
namespace {

// Most frames of the chunks that a GPU computes at once; limits the scratch memory (some 40 KB a
// frame).
constexpr int64_t kSolvedFrames = 1024;

}  // namespace

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
  synchronize(ctx);  // a clone copies the state at once
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
  encoder_->drop_waiting(ctx, state.encoder_);
  state.tokens_ = count;
  std::vector<float> none;
  const S3FlowJob job{{}, false, noise, &state, &none};
  const Due due{&job, count};
  encode_and_solve(ctx, {&due, 1});
  return state;
}

int64_t S3Flow::spare_frames(const S3FlowVoice& voice) const {
  return voice.mel.view().count() / config_.mel -
         static_cast<int64_t>(voice.tokens.size()) * config_.ratio;
}

int64_t S3Flow::certain(int64_t tokens) const {
  return std::max<int64_t>(0, tokens - config_.lookahead) / config_.chunk * config_.chunk;
}

/// Returns the number of tokens in the next chunk; 0 if more tokens must arrive first.
int64_t S3Flow::ready_tokens(const S3FlowJob& job) const {
  const int64_t there = job.state->encoder_.ready.rows();
  const bool rest = job.last && there <= config_.longest_chunk();
  const int64_t ready = rest ? there : std::min(there, config_.chunk);
  return ready < config_.chunk && !job.last ? 0 : ready;
}

void S3Flow::run(StepContext& ctx, std::span<const S3FlowJob> jobs) const {
  for (const S3FlowJob& job : jobs) {
    encoder_->push(ctx, job.tokens, job.last, job.state->encoder_);
    job.state->tokens_ += std::ssize(job.tokens);
  }
  const int64_t most = device() == Device::kCpu ? 0 : kSolvedFrames;
  std::vector<Due> due;
  do {
    due.clear();
    int64_t frames = 0;
    for (const S3FlowJob& job : jobs) {
      const int64_t tokens = ready_tokens(job);
      frames += tokens * config_.ratio;
      if (tokens == 0) continue;
      if (!due.empty() && frames > most) break;
      due.push_back({&job, tokens});
    }
    if (!due.empty()) encode_and_solve(ctx, due);
  } while (!due.empty());
}

void S3Flow::run(StepContext& ctx, std::span<const int32_t> tokens, bool last,
                 const S3FlowNoise& noise, S3FlowState& state, std::vector<float>& mel) const {
  const S3FlowJob job{tokens, last, noise, &state, &mel};
  run(ctx, {&job, 1});
}

void S3Flow::whole(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice,
                   std::span<const int32_t> tokens, const S3FlowNoise& noise,
                   std::vector<float>& mel) const {
  std::vector<int32_t> all = voice->tokens;
  all.insert(all.end(), tokens.begin(), tokens.end());
  const auto count = static_cast<int64_t>(all.size());
  S3FlowState state(voice, encoder_->open(count), estimator_->open(true));
  encoder_->push(ctx, all, true, state.encoder_);
  const S3FlowJob job{{}, true, noise, &state, &mel};
  const Due due{&job, count};
  encode_and_solve(ctx, {&due, 1});
}

/// Encodes the chunks, computes their mel frames from noise, and appends them to the jobs' mels.
void S3Flow::encode_and_solve(StepContext& ctx, std::span<const Due> due) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t m = config_.mel, branches = config_.branches();
  std::vector<FlowEstimator::Job> jobs;
  int64_t frames = 0;
  for (const Due& each : due) {
    jobs.push_back({&each.job->state->estimator_, each.tokens * config_.ratio});
    frames += jobs.back().frames;
  }
  const View given = ctx.host.take({frames, 2 * m}, DType::kF32);
  const View noise = ctx.host.take({frames, m}, DType::kF32);
  const View x = take_rows(ctx, branches * frames, estimator_->in());
  const View out = take_rows(ctx, frames, m);
  fill_zeros(ctx, x);
  int64_t at = 0;
  for (size_t i = 0; i < due.size(); at += jobs[i++].frames) {
    const Arena::Mark inner(ctx.arena);
    const int64_t end = at + jobs[i].frames;
    const View mean = encoder_->encode(ctx, due[i].tokens, due[i].job->state->encoder_);
    copy_columns(ctx, mean, m, x.slice(at, end));
    give(due[i], given.slice(at, end), noise.slice(at, end));
  }
  copy_columns(ctx, upload(ctx, given), 2 * m, x.slice(0, frames));
  store(ctx, {noise.f32(), static_cast<size_t>(noise.count())}, out);
  FlowEstimator::Chunks chunks = estimator_->begin(ctx, jobs);
  solve(ctx, chunks, x, out);
  at = 0;
  for (size_t i = 0; i < due.size(); at += jobs[i++].frames) {
    const S3FlowState& state = *due[i].job->state;
    const int64_t prompt = std::ssize(state.voice_->tokens) * config_.ratio;
    const int64_t skip = std::clamp<int64_t>(prompt - state.estimator_.frames, 0, jobs[i].frames);
    std::vector<float>& mel = *due[i].job->mel;
    const auto count = static_cast<size_t>((jobs[i].frames - skip) * m);
    mel.resize(mel.size() + count);
    fetch(ctx, out.slice(at + skip, at + jobs[i].frames), std::span(mel).last(count));
  }
  estimator_->end(ctx, chunks);
}

/// Writes what a chunk's frames are computed from beside the mean, in host memory: speaker and
/// prompt to `given` [F, 2 M], and noise [F, M].
void S3Flow::give(const Due& due, const View& given, const View& noise) const {
  const S3FlowState& state = *due.job->state;
  const S3FlowVoice& voice = *state.voice_;
  const int64_t m = config_.mel, before = state.estimator_.frames;
  const int64_t prompt = voice.mel.view().count() / m;
  for (int64_t f = 0; f < given.shape[0]; ++f) {
    float* to = std::copy_n(voice.speaker.f32(), m, given.f32() + f * 2 * m);
    if (before + f < prompt) {
      std::copy_n(voice.mel.f32() + (before + f) * m, m, to);
    } else {
      std::fill_n(to, m, 0.f);
    }
    due.job->noise(before + f, {noise.f32() + f * m, static_cast<size_t>(m)});
  }
}

/// Leads `out` [F, M] from noise to mel, by Euler's method. x: the estimator's input for all
/// branches, without the columns of `out`. Without conditions, all other columns are zero.
void S3Flow::solve(StepContext& ctx, const FlowEstimator::Chunks& chunks, const View& x,
                   const View& out) const {
  const int64_t frames = out.shape[0];
  const View slope = take_rows(ctx, x.shape[0], config_.mel), first = slope.slice(0, frames);
  for (int64_t s = 0; s < config_.steps; ++s) {
    for (int64_t b = 0; b < config_.branches(); ++b)
      copy_columns(ctx, out, 0, x.slice(b * frames, (b + 1) * frames));
    estimator_->run(ctx, chunks, s, x, slope);
    const float g = config_.guidance;
    if (config_.branches() == 2)
      weighted_sum(ctx, 1 + g, first, -g, slope.slice(frames, 2 * frames), first);
    weighted_sum(ctx, 1, out, schedule_.deltas[static_cast<size_t>(s)], first, out);
  }
}

size_t S3Flow::bytes_per_second() const {
  return estimator_->bytes_per_group() * 50 / static_cast<size_t>(KvPool::kPageRows);
}

}  // namespace syrinx
