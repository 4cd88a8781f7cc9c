#include "families/glm4_voice/stages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "families/glm4_voice/answer.h"
#include "kernels/sample.h"

namespace syrinx::glm4_voice {
namespace {

// Numbers of codes of the blocks; the last number repeats.
constexpr std::array<int64_t, 5> kBlocks{25, 50, 100, 150, 200};
constexpr int64_t kOverlapCodes = 5;
constexpr int64_t kMostFrames = 64;  // most mel frames of a vocoder's chunk: 0.7 s
constexpr uint32_t kSourceNoise = 0x474C4D01, kSourcePhase = 0x474C4D02;

struct MelStream : StreamState {
  int64_t block = 0;
  std::vector<int32_t> codes;  // all codes so far
  std::vector<float> told;     // [.., mel], the mel before the next block, which the flow continues
  std::vector<float> held;     // [overlap, mel], not sent with the previous block
};

struct SoundStream : StreamState {
  explicit SoundStream(HiftState fresh) : hift(std::move(fresh)) {}
  uint64_t seed = 0;
  HiftState hift;
  int64_t ahead = 0;  // number of frames after the last job's fresh ones that the vocoder has read
  std::vector<float> ready;
};

}  // namespace

// ---------------------------------------------------------------------------- hearing

FrameType HearingStage::in() const {
  return {Flow::kSamples, static_cast<int>(tokenizer_.block_samples())};
}
int HearingStage::most_out() const {
  return static_cast<int>(tokenizer_.config().block / tokenizer_.config().pool);
}

struct HearingStage::Stream : StreamState {
  Stream(const HearingStage& its_stage, bool on) : stage(its_stage), goes_on(on) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Stops encoding but keeps the state, because a later request may continue the recording.
  ~Stream() override { stage.end_segment(*this); }

  const HearingStage& stage;
  const bool goes_on;
  std::vector<Heard> parts;  // segments, with the keys of their blocks
  size_t number = 0;         // index of the segment that is being encoded
  int64_t block = 0;         // index of the next block of that segment
  // Cached codes of the first blocks of that segment.
  std::vector<std::shared_ptr<const std::vector<float>>> known;
  std::shared_ptr<GlmSpeechTokenizer::State> state;  // null if the codes of all blocks are known
};

/// Finds the known blocks of a segment, up to the last block after which a state is stored.
void HearingStage::begin_segment(Stream& stream) const {
  const std::vector<uint64_t>& keys = stream.parts[stream.number].keys;
  stream.known.clear();
  for (const uint64_t key : keys) {
    auto codes = before_.find(key);
    if (!codes) break;
    stream.known.push_back(std::move(codes));
  }
  if (stream.known.size() == keys.size()) return;
  for (; !stream.known.empty(); stream.known.pop_back()) {
    if ((stream.state = states_.take(keys[stream.known.size() - 1]))) return;
  }
  stream.state = std::make_shared<GlmSpeechTokenizer::State>(tokenizer_.open());
}

/// Ends a segment, complete or not. Stores its state if the recording may continue.
void HearingStage::end_segment(Stream& stream) const {
  const auto state = std::exchange(stream.state, nullptr);
  if (!state || !stream.goes_on) return;
  const Heard& part = stream.parts[stream.number];
  const int64_t blocks = std::min(stream.block, part.samples / tokenizer_.block_samples());
  if (blocks == 0) return;
  state->rewind(blocks * tokenizer_.config().block);
  states_.keep(part.keys[static_cast<size_t>(blocks - 1)], state, state->bytes());
}

Bundle HearingStage::bundle(const Sequence& answer) const {
  Bundle bundle = heard_bundle(answer);
  bundle.set("goes_on", uint64_t{static_cast<const Answer&>(answer).goes_on()});
  return bundle;
}

std::unique_ptr<StreamState> HearingStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>(*this, bundle.number("goes_on", 1) == 1);
  stream->parts = take_heard(bundle, tokenizer_.segment_samples(), [this](int64_t samples) {
    return (samples - 1) / tokenizer_.block_samples() + 1;
  });
  return stream;
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (ChunkJob& job : jobs) run(ctx, job);
}

void HearingStage::run(StepContext& ctx, ChunkJob& job) const {
  auto& s = *static_cast<Stream*>(job.state);
  const int64_t width = tokenizer_.block_samples();
  float* out = job.out.data();
  std::vector<int32_t> codes;
  for (int64_t frame = job.left; frame < job.left + job.fresh; ++frame) {
    SYRINX_CHECK(s.number < s.parts.size(), "[hearing] more frames than segments");
    const Heard& part = s.parts[s.number];
    if (s.block == 0) begin_segment(s);
    // The window has this segment's previous block, if any, the current block, and the next one.
    const int64_t back = s.block > 0 ? 1 : 0, offset = (s.block - back) * width;
    SYRINX_CHECK(frame >= back, "[hearing] the block before ", s.block, " is missing");
    const auto window = job.values.subspan(static_cast<size_t>((frame - back) * width));
    const int64_t length =
        std::min({std::ssize(window), (back + 2) * width, part.samples - offset});
    if (const auto block = static_cast<size_t>(s.block); block < s.known.size()) {
      out = std::copy(s.known[block]->begin(), s.known[block]->end(), out);
    } else {
      codes.resize(static_cast<size_t>(tokenizer_.block_codes(s.block, part.samples)));
      tokenizer_.encode(
          ctx, {part.samples, part.loudest, offset, window.first(static_cast<size_t>(length))},
          *s.state, codes);
      before_.keep(part.keys[block],
                   std::make_shared<const std::vector<float>>(codes.begin(), codes.end()),
                   codes.size() * sizeof(float));
      out = std::copy(codes.begin(), codes.end(), out);
    }
    if (++s.block * width < part.samples) continue;
    end_segment(s);
    ++s.number;
    s.block = 0;
  }
  job.made = static_cast<int>(out - job.out.data());
}

// ---------------------------------------------------------------------------- flow

FlowStage::FlowStage(const GlmFlow& flow)
    : flow_(flow), overlap_(flow.config().frames(kOverlapCodes)) {
  const int64_t count = 2 * overlap_;
  for (int64_t i = 0; i < count; ++i) {
    const double turn = static_cast<double>(i) / static_cast<double>(count - 1);
    window_.push_back(0.54 - 0.46 * std::cos(2 * std::numbers::pi * turn));
  }
}

std::unique_ptr<StreamState> FlowStage::open(Bundle) const { return std::make_unique<MelStream>(); }

int FlowStage::cut(const StreamState& stream, const WaitingFrames& waiting, int) const {
  const int64_t number = static_cast<const MelStream&>(stream).block;
  const int64_t block = kBlocks[static_cast<size_t>(std::min<int64_t>(number, kBlocks.size() - 1))];
  const int64_t there = std::ssize(waiting.codes);
  if (there > block) return static_cast<int>(block);
  return waiting.closed ? static_cast<int>(there) : 0;
}

void FlowStage::follow(StreamState& stream, const ChunkJob& job) const {
  if (job.fresh > 0) ++static_cast<MelStream&>(stream).block;
}

void FlowStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (ChunkJob& job : jobs) run(ctx, job);
}

void FlowStage::run(StepContext& ctx, ChunkJob& job) const {
  auto& s = *static_cast<MelStream*>(job.state);
  const Arena::Mark mark(ctx.host);
  const int64_t mel = flow_.config().mel;
  const auto fresh =
      job.codes.subspan(static_cast<size_t>(job.left), static_cast<size_t>(job.fresh));
  s.codes.insert(s.codes.end(), fresh.begin(), fresh.end());
  const View rows = flow_.run(ctx, s.codes, s.told);
  const bool last = job.last && job.ahead == 0;
  const int64_t made = rows.shape[0] - (last ? 0 : overlap_);
  SYRINX_CHECK(made >= 0 && made <= int64_t{job.fresh} * most_out() &&
                   (s.held.empty() || rows.shape[0] >= overlap_),
               "[glm4_voice flow] ", job.fresh, " codes yielded ", rows.shape[0], " frames");
  if (!s.held.empty()) {
    for (int64_t i = 0; i < overlap_ * mel; ++i) {
      const int64_t t = i / mel;
      rows.f32()[i] =
          static_cast<float>(rows.f32()[i] * window_[t] + s.held[i] * window_[overlap_ + t]);
    }
  }
  s.held.assign(rows.f32() + made * mel, rows.f32() + rows.count());
  s.told.insert(s.told.end(), rows.f32(), rows.f32() + made * mel);
  std::copy_n(rows.f32(), made * mel, job.out.data());
  job.made = static_cast<int>(made);
  follow(s, job);
}

// ---------------------------------------------------------------------------- vocoder

Bundle VocoderStage::bundle(const Sequence& answer) const {
  Bundle bundle;
  bundle.set("seed", static_cast<const Answer&>(answer).seed());
  return bundle;
}

std::unique_ptr<StreamState> VocoderStage::open(Bundle bundle) const {
  const uint64_t seed = bundle.number("seed");
  std::vector<float> phases(static_cast<size_t>(hift_.config().source.harmonics + 1), 0.f);
  for (size_t k = 1; k < phases.size(); ++k)
    phases[k] = philox_uniform(seed, 0, static_cast<uint32_t>(k), kSourcePhase) - 0.5f;
  auto stream = std::make_unique<SoundStream>(hift_.open(phases));
  stream->seed = seed;
  return stream;
}

int VocoderStage::cut(const StreamState&, const WaitingFrames& waiting, int) const {
  const int64_t frames = std::ssize(waiting.values) / in_width(), ahead = hift_.lookahead();
  if (waiting.closed && frames <= kMostFrames + ahead) return static_cast<int>(frames);
  return static_cast<int>(std::clamp<int64_t>(frames - ahead, 0, kMostFrames));
}

void VocoderStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.host);
  const int64_t mel = in_width();
  std::vector<HiftJob> work;
  for (const ChunkJob& job : jobs) {
    auto& s = *static_cast<SoundStream*>(job.state);
    const int64_t count = job.fresh + job.ahead - s.ahead;
    const View rows = ctx.host.take({count, mel}, DType::kF32);
    std::copy_n(job.values.data() + (job.left + s.ahead) * mel, count * mel, rows.f32());
    const auto noise = [&s](int64_t frame, std::span<float> values) {
      philox_normal(s.seed, static_cast<uint32_t>(frame), kSourceNoise, values);
    };
    work.push_back({&s.hift, rows, job.last && job.ahead == 0, noise, &s.ready});
  }
  hift_.run(ctx, work);
  for (const ChunkJob& job : jobs) {
    auto& s = *static_cast<SoundStream*>(job.state);
    const auto samples = static_cast<size_t>(int64_t{job.fresh} * out_width());
    SYRINX_CHECK(s.ready.size() >= samples, "[glm4_voice vocoder] ", samples,
                 " samples needed, but ", s.ready.size(), " ready");
    std::copy_n(s.ready.begin(), samples, job.out.begin());
    s.ready.erase(s.ready.begin(), s.ready.begin() + static_cast<std::ptrdiff_t>(samples));
    s.ahead = job.ahead;
  }
}

}  // namespace syrinx::glm4_voice
