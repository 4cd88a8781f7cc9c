#include "families/s3/flow_stage.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "families/s3/script.h"
#include "kernels/sample.h"
#include "kernels/torch_random.h"

namespace syrinx {
namespace {

constexpr int64_t kTableFrames = 15000;  // 300 s; later positions start again at its beginning
constexpr uint32_t kFlowNoise = 0x53330001;
constexpr size_t kPromptsKept = 4;

bool starts_segment(int32_t code) { return (code & kS3SegmentStart) != 0; }

/// Returns how many frames of `codes` belong to the same segment as the first frame.
int64_t segment_frames(std::span<const int32_t> codes) {
  const auto next = std::find_if(codes.begin() + 1, codes.end(), starts_segment);
  return next - codes.begin();
}

std::vector<float> values_of(const Tensor& tensor) {
  if (tensor.empty()) return {};
  return {tensor.f32(), tensor.f32() + tensor.view().count()};
}

Tensor filled_tensor(const Shape& shape, std::span<const float> values) {
  Tensor tensor(shape, DType::kF32);
  std::copy(values.begin(), values.end(), tensor.f32());
  return tensor;
}

/// Compares contents bit by bit, because a stage gets each request's voice as a copy in a bundle.
bool same_values(const Tensor& a, const Tensor& b) {
  const int64_t count = a.empty() ? 0 : a.view().count();
  if (count != (b.empty() ? 0 : b.view().count())) return false;
  return count == 0 ||
         std::memcmp(a.f32(), b.f32(), sizeof(float) * static_cast<size_t>(count)) == 0;
}
bool same_voice(const S3FlowVoice& a, const S3FlowVoice& b) {
  return a.tokens == b.tokens && same_values(a.speaker, b.speaker) && same_values(a.mel, b.mel);
}

}  // namespace

struct S3FlowStage::Stream : StreamState {
  std::shared_ptr<const S3FlowVoice> voice;
  uint64_t seed = 0;
  bool full = false;
  // State of the segment, once it has begun. Unset with the full flow.
  std::optional<S3FlowState> flow;
  int64_t taken = 0;  // number of tokens of the segment so far, without lookahead
  int64_t ahead = 0;  // number of later tokens that the flow has read already
  uint32_t segment = 0;
  std::vector<float> ready;  // mel values that were computed but not sent yet
};

S3FlowStage::S3FlowStage(const S3Flow& flow, S3Noise noise)
    : flow_(flow), noise_(noise), mel_width_(flow.config().mel * flow.config().ratio) {
  table_.resize(static_cast<size_t>(flow.config().mel * kTableFrames));
  torch_randn(0, table_);
}

Bundle S3FlowStage::bundle(const Sequence& request) const {
  const auto& state = s3_state_of(request);
  const S3FlowVoice& voice = *state.flow_voice();
  Bundle bundle;
  bundle.set("tokens", voice.tokens);
  bundle.set("mel", values_of(voice.mel));
  bundle.set("speaker", values_of(voice.speaker));
  bundle.set("seed", state.seed());
  bundle.set("full", uint64_t{state.full_flow()});
  return bundle;
}

std::unique_ptr<StreamState> S3FlowStage::open(Bundle bundle) const {
  const int64_t mel = flow_.config().mel, ratio = flow_.config().ratio;
  S3FlowVoice voice;
  voice.tokens = bundle.ints("tokens");
  const std::vector<float> frames = bundle.floats("mel");
  const int64_t least = std::ssize(voice.tokens) * ratio, there = std::ssize(frames) / mel;
  if (std::ssize(frames) % mel != 0 || there < least || there >= least + ratio) {
    throw LoadError(concat("a voice has ", voice.tokens.size(), " tokens, which do not match ",
                           frames.size(), " mel values"));
  }
  for (const int32_t token : voice.tokens) {
    if (token < 0 || token >= flow_.config().vocab)
      throw LoadError(concat("a voice has the unknown token ", token));
  }
  if (there > 0) voice.mel = filled_tensor({there, mel}, frames);
  voice.speaker = filled_tensor({mel}, bundle.floats("speaker", mel));
  auto stream = std::make_unique<Stream>();
  stream->voice = known(std::move(voice));
  stream->seed = bundle.number("seed");
  stream->full = bundle.number("full", 1) == 1;
  return stream;
}

/// Returns the stored voice with the same content, or else `voice`.
std::shared_ptr<const S3FlowVoice> S3FlowStage::known(S3FlowVoice voice) const {
  const std::lock_guard lock(mutex_);
  for (const Prompt& prompt : prompts_) {
    if (same_voice(*prompt.voice, voice)) return prompt.voice;
  }
  return std::make_shared<const S3FlowVoice>(std::move(voice));
}

int S3FlowStage::cut(const StreamState& stream, const WaitingFrames& waiting, int) const {
  const std::span<const int32_t> codes = waiting.codes;
  if (codes.empty()) return 0;
  const auto& s = static_cast<const Stream&>(stream);
  const int64_t frames = segment_frames(codes), chunk = flow_.config().chunk;
  const bool ended = waiting.closed || frames < static_cast<int64_t>(codes.size());
  if (s.full) return ended ? static_cast<int>(frames) : 0;
  const int64_t prompt = flow_.config().whole_prompt ? 0 : std::ssize(s.voice->tokens);
  const int64_t taken = prompt + (starts_segment(codes[0]) ? 0 : s.taken);
  const int64_t block = (taken / chunk + 1) * chunk - taken;
  if (frames >= block + flow_.config().lookahead) return static_cast<int>(block);
  return ended ? static_cast<int>(frames) : 0;
}

void S3FlowStage::fill_noise(int64_t frame, std::span<float> out) const {
  for (size_t c = 0; c < out.size(); ++c) {
    out[c] = table_[c * kTableFrames + static_cast<size_t>(frame % kTableFrames)];
  }
}

/// Returns the flow's state after the voice's prompt. Stores it for the latest kPromptsKept voices.
S3FlowState S3FlowStage::begin(StepContext& ctx,
                               const std::shared_ptr<const S3FlowVoice>& voice) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(prompts_.begin(), prompts_.end(), [&](const Prompt& prompt) {
      return prompt.voice == voice || same_voice(*prompt.voice, *voice);
    });
    if (found != prompts_.end()) {
      prompts_.splice(prompts_.begin(), prompts_, found);
      return found->state->clone();
    }
  }
  const auto noise = [this](int64_t frame, std::span<float> out) { fill_noise(frame, out); };
  auto state = std::make_shared<S3FlowState>(flow_.open(ctx, voice, noise));
  S3FlowState copy = state->clone();
  const std::lock_guard lock(mutex_);
  prompts_.push_front({voice, std::move(state)});
  if (prompts_.size() > kPromptsKept) prompts_.pop_back();
  return copy;
}

/// A job on its way through the stage, segment by segment.
struct S3FlowStage::Work {
  Stream& stream() const { return *static_cast<Stream*>(job.state); }
  std::span<const int32_t> window() const {
    return job.codes.subspan(static_cast<size_t>(job.left));
  }

  ChunkJob& job;
  float* out;
  // The next frames [begin, end) of one segment, whose frames are known up to `known`.
  int64_t begin = 0, end = 0, known = 0;
  bool ended = false;                // the segment has no later frame
  std::vector<int32_t> tokens = {};  // those up to `known` that the flow has not read yet
  std::function<void(int64_t frame, std::span<float> out)> noise = {};
};

/// Chooses the next frames of a job, and opens the flow of a new segment.
void S3FlowStage::begin_piece(StepContext& ctx, Work& work) const {
  Stream& s = work.stream();
  const std::span<const int32_t> window = work.window();
  if (starts_segment(window[work.begin])) {
    s.flow.reset();
    s.taken = s.ahead = 0;
    s.ready.clear();
    ++s.segment;
  }
  work.known = work.begin + segment_frames(window.subspan(static_cast<size_t>(work.begin)));
  work.end = std::min<int64_t>(work.known, work.job.fresh);
  const bool followed = work.known < std::ssize(window);  // another segment follows
  work.ended = work.end == work.known && (followed || work.job.last);
  const auto codes = window.subspan(static_cast<size_t>(work.begin + s.ahead),
                                    static_cast<size_t>(work.known - work.begin - s.ahead));
  work.tokens.assign(codes.begin(), codes.end());
  for (int32_t& token : work.tokens) token &= ~kS3SegmentStart;
  const int64_t prompt = std::ssize(s.voice->tokens) * flow_.config().ratio;
  const uint64_t seed = s.seed + 0x9E3779B97F4A7C15u * s.segment;
  work.noise = [this, prompt, seed](int64_t frame, std::span<float> values) {
    if (noise_ == S3Noise::kFixed || frame < prompt) return fill_noise(frame, values);
    philox_normal(seed, static_cast<uint32_t>(frame - prompt), kFlowNoise, values);
  };
  if (!s.full && !s.flow) s.flow.emplace(begin(ctx, s.voice));
}

/// Turns the next tokens of the jobs' segments into mel values, as far as later tokens cannot
/// change these.
void S3FlowStage::solve(StepContext& ctx, std::span<Work*> works) const {
  std::vector<S3FlowJob> jobs;
  for (Work* work : works) {
    Stream& s = work->stream();
    if (!s.full) {
      jobs.push_back({work->tokens, work->ended, work->noise, &*s.flow, &s.ready});
      continue;
    }
    SYRINX_CHECK(work->ended && s.taken == 0, "[s3 flow] full mode needs a whole segment");
    flow_.whole(ctx, s.voice, work->tokens, work->noise, s.ready);
  }
  flow_.run(ctx, jobs);
}

/// Writes the mel values of a job's frames [begin, end).
void S3FlowStage::end_piece(Work& work) const {
  Stream& s = work.stream();
  const int unheard = static_cast<int>(flow_.spare_frames(*s.voice));
  const int64_t count = work.end - work.begin;
  const auto values = static_cast<size_t>(count * mel_width_);
  SYRINX_CHECK(s.ready.size() >= values, "[s3 flow] ", count, " tokens' mel needed, but ",
               s.ready.size() / static_cast<size_t>(mel_width_), " ready");
  for (int64_t i = work.begin; i < work.end; ++i) {
    work.out = std::copy_n(s.ready.begin() + (i - work.begin) * mel_width_, mel_width_, work.out);
    const bool first = s.taken + i == work.begin;
    *work.out++ = S3Mark{starts_segment(work.window()[i]), first ? unheard : 0}.value();
  }
  s.ready.erase(s.ready.begin(), s.ready.begin() + static_cast<std::ptrdiff_t>(values));
  s.taken += count;
  s.ahead = work.known - work.end;
  work.begin = work.end;
}

void S3FlowStage::follow(StreamState& stream, const ChunkJob& job) const {
  auto& s = static_cast<Stream&>(stream);
  for (const int32_t code : job.codes.subspan(static_cast<size_t>(job.left), job.fresh)) {
    if (starts_segment(code)) s.taken = 0;
    ++s.taken;
  }
}

void S3FlowStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  std::vector<Work> works;
  works.reserve(jobs.size());
  for (ChunkJob& job : jobs) works.push_back({job, job.out.data()});
  for (;;) {
    std::vector<Work*> due;
    for (Work& work : works)
      if (work.begin < work.job.fresh) due.push_back(&work);
    if (due.empty()) return;
    for (Work* work : due) begin_piece(ctx, *work);
    solve(ctx, due);
    for (Work* work : due) end_piece(*work);
  }
}

}  // namespace syrinx
