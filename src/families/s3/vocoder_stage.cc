#include "families/s3/vocoder_stage.h"

#include <algorithm>
#include <optional>

#include "families/s3/flow_stage.h"
#include "families/s3/script.h"
#include "kernels/sample.h"
#include "kernels/uniforms.h"

namespace syrinx {
namespace {

constexpr uint32_t kSourceNoise = 0x53330002, kSourcePhase = 0x53330003;
constexpr int64_t kMostChunkTokens = 100;  // most tokens of a chunk: four seconds

}  // namespace

struct S3VocoderStage::Stream : StreamState {
  uint64_t seed = 0;
  std::optional<HiftState> hift;  // state of the current segment; unset before its first frame
  int64_t ahead = 0;              // number of later tokens that the vocoder has read already
  int64_t frames_before = 0;      // number of mel frames of earlier segments
  int64_t frames = 0;             // number of mel frames of this segment so far, without lookahead
  uint32_t segment = 0;
  int64_t samples = 0;  // number of samples of the segment that were sent
  std::vector<float> ready;
};

S3VocoderStage::S3VocoderStage(const Hift& hift, int64_t ratio, std::vector<float> fade)
    : hift_(hift), ratio_(ratio), fade_(std::move(fade)) {}

int S3VocoderStage::lookahead() const {
  return static_cast<int>((hift_.lookahead() + ratio_ - 1) / ratio_);
}

Bundle S3VocoderStage::bundle(const Sequence& request) const {
  Bundle bundle;
  bundle.set("seed", s3_state_of(request).seed());
  return bundle;
}

std::unique_ptr<StreamState> S3VocoderStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  stream->seed = bundle.number("seed");
  return stream;
}

HiftState S3VocoderStage::begin(const Stream& stream) const {
  std::vector<float> phases(static_cast<size_t>(hift_.config().source.harmonics + 1), 0.f);
  for (size_t k = 1; k < phases.size(); ++k) {
    phases[k] =
        philox_uniform(stream.seed, stream.segment, static_cast<uint32_t>(k), kSourcePhase) - 0.5f;
  }
  return hift_.open(phases);
}

int S3VocoderStage::cut(const StreamState&, const WaitingFrames& waiting, int) const {
  const int64_t width = in_width();
  const int64_t frames = static_cast<int64_t>(waiting.values.size()) / width;
  if (frames == 0) return 0;
  int64_t known = 1;
  while (known < frames && !S3Mark::of(waiting.values[known * width + width - 1]).starts) ++known;
  const bool ended = waiting.closed || known < frames;
  if (ended && known <= kMostChunkTokens + lookahead()) return static_cast<int>(known);
  return static_cast<int>(std::clamp<int64_t>(known - lookahead(), 0, kMostChunkTokens));
}

/// Frames of one segment in a chunk: [begin, end) of the window are sent; the vocoder reads up to
/// `known`.
struct S3VocoderStage::Piece {
  ChunkJob* job = nullptr;
  int64_t begin = 0, end = 0, known = 0;
  int64_t unheard = 0;  // nonzero only at the beginning of a segment
  Stream& stream() const { return *static_cast<Stream*>(job->state); }
};

/// Begins the segment at `begin` if it is a new one, and gives its frames to the vocoder.
S3VocoderStage::Piece S3VocoderStage::begin_piece(StepContext& ctx, ChunkJob& job, int64_t begin,
                                                  HiftJob& work) const {
  auto& s = *static_cast<Stream*>(job.state);
  const int64_t width = in_width(), mel = hift_.config().mel;
  const float* window = job.values.data() + job.left * width;
  const int64_t frames = job.fresh + job.ahead;
  const auto mark_of = [&](int64_t i) { return S3Mark::of(window[i * width + width - 1]); };
  if (mark_of(begin).starts) {
    s.frames_before += s.frames;
    s.frames = s.ahead = s.samples = 0;
    s.ready.clear();
    s.hift.reset();
    ++s.segment;
  }
  if (!s.hift) s.hift.emplace(this->begin(s));
  int64_t known = begin + 1;
  while (known < frames && !mark_of(known).starts) ++known;
  const int64_t end = std::min<int64_t>(known, job.fresh);
  const bool ended = end == known && (known < frames || job.last);
  const int64_t fed = begin + s.ahead, fresh = known - fed;
  const int64_t unheard = mark_of(begin).unheard;
  const View all = ctx.host.take({fresh * ratio_, mel}, DType::kF32);
  for (int64_t i = 0; i < fresh; ++i)
    std::copy_n(window + (fed + i) * width, ratio_ * mel, all.f32() + i * ratio_ * mel);
  const auto noise = [this, &s](int64_t frame, std::span<float> values) {
    const auto fill = hift_.config().source.uniform_noise ? philox_uniforms : philox_normal;
    fill(s.seed, static_cast<uint32_t>(s.frames_before + frame), kSourceNoise, values);
  };
  work = {&*s.hift, all.slice(unheard, fresh * ratio_), ended, noise, &s.ready};
  return {&job, begin, end, known, unheard};
}

/// Sends the samples of a piece that the vocoder has run.
void S3VocoderStage::end_piece(const Piece& piece) const {
  Stream& s = piece.stream();
  const int64_t hop = out_width(), rows = (piece.end - piece.begin) * ratio_ - piece.unheard;
  const auto samples = static_cast<size_t>(rows * hop);
  SYRINX_CHECK(s.ready.size() >= samples, "[s3 vocoder] ", samples, " samples needed, but ",
               s.ready.size(), " ready");
  float* out = piece.job->out.data() + piece.job->made * hop;
  for (size_t i = 0; i < samples; ++i, ++s.samples) {
    const bool fading = s.samples < static_cast<int64_t>(fade_.size());
    *out++ = fading ? s.ready[i] * fade_[static_cast<size_t>(s.samples)] : s.ready[i];
  }
  s.ready.erase(s.ready.begin(), s.ready.begin() + static_cast<std::ptrdiff_t>(samples));
  s.frames += rows;
  s.ahead = piece.known - piece.end;
  piece.job->made += static_cast<int>(rows);
}

void S3VocoderStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  std::vector<int64_t> begins(jobs.size());
  for (ChunkJob& job : jobs) job.made = 0;
  // In each turn, the vocoder runs a piece of each chunk that has frames left.
  for (bool more = true; more;) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    std::vector<Piece> pieces;
    std::vector<HiftJob> work;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (begins[i] >= jobs[i].fresh) continue;
      pieces.push_back(begin_piece(ctx, jobs[i], begins[i], work.emplace_back()));
      begins[i] = pieces.back().end;
    }
    hift_.run(ctx, work);
    for (const Piece& piece : pieces) end_piece(piece);
    more = !pieces.empty();
  }
}

}  // namespace syrinx
