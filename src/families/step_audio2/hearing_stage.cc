#include "families/step_audio2/hearing_stage.h"

#include <algorithm>

namespace syrinx::step_audio2 {
namespace {

struct PieceStream : StreamState {
  std::vector<Heard> pieces;  // pieces of recordings; each has one key
  size_t number = 0;          // index of the piece that is being encoded
  int chunk = 0;              // index of the next chunk of that piece
  StepAudioEncoder::Work work;
  std::shared_ptr<const std::vector<float>> known;  // rows of the piece if they are cached; or null
};

}  // namespace

std::unique_ptr<StreamState> HearingStage::open(Bundle bundle) const {
  auto stream = std::make_unique<PieceStream>();
  stream->pieces = take_heard(bundle, StepAudioEncoder::kPiece, [](int64_t) { return 1; });
  return stream;
}

/// Returns the number of chunks of a piece. The last chunk takes at least half of the piece's
/// frames, so that it has room for all rows: a chunk makes at most one row per frame.
int HearingStage::chunks(int64_t samples) const {
  if (StepAudioEncoder::count(samples) == 0) return 1;
  return static_cast<int>(
      std::clamp<int64_t>(frames(samples) / 2, 1, static_cast<int64_t>(encoder_.steps())));
}

int HearingStage::cut(const StreamState& state, const WaitingFrames& waiting, int planned) const {
  if (planned == 0) return 0;
  const auto& stream = static_cast<const PieceStream&>(state);
  SYRINX_CHECK(stream.number < stream.pieces.size(), "[hearing] more frames than pieces");
  const int64_t samples = stream.pieces[stream.number].samples;
  const int all = chunks(samples);
  if (stream.chunk + 1 < all) return 1;
  const int64_t left = frames(samples) - (all - 1), there = std::ssize(waiting.values) / in_width();
  return static_cast<int>(std::min(left, there));
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (ChunkJob& job : jobs) run(ctx, job);
}

void HearingStage::run(StepContext& ctx, ChunkJob& job) const {
  auto& s = *static_cast<PieceStream*>(job.state);
  SYRINX_CHECK(s.number < s.pieces.size(), "[hearing] more frames than pieces");
  const int64_t samples = s.pieces[s.number].samples;
  const int all = chunks(samples);
  const int64_t rows = StepAudioEncoder::count(samples);
  if (s.chunk == 0) {
    s.known = before_.find(s.pieces[s.number].keys[0]);
    if (!s.known) s.work = encoder_.open(samples);
  }
  const auto window = job.values.subspan(static_cast<size_t>(int64_t{job.left} * in_width()));
  const int end = encoder_.steps() * (s.chunk + 1) / all;
  for (int step = encoder_.steps() * s.chunk / all; step < end && !s.known && !s.work.done();
       ++step) {
    const bool first = step == 0;
    SYRINX_CHECK(!first || std::ssize(window) >= samples, "[hearing] ", window.size(),
                 " samples of a piece of ", samples);
    encoder_.run(ctx, s.work,
                 first ? window.first(static_cast<size_t>(samples)) : std::span<const float>());
  }
  job.made = 0;
  if (s.chunk + 1 == all) {
    if (!s.known) {
      SYRINX_CHECK(s.work.done(), "[hearing] a piece is not done");
      std::vector<float> made(static_cast<size_t>(rows * out_width()));
      if (rows > 0) fetch(ctx, s.work.rows(), made);
      synchronize(ctx);
      s.known = std::make_shared<const std::vector<float>>(std::move(made));
      before_.keep(s.pieces[s.number].keys[0], s.known, s.known->size() * sizeof(float));
    }
    SYRINX_CHECK(rows <= job.fresh && std::ssize(*s.known) == rows * out_width(), "[hearing] ",
                 rows, " rows need more than ", job.fresh, " frames");
    std::copy(s.known->begin(), s.known->end(), job.out.begin());
    job.made = static_cast<int>(rows);
    s.work = {};
    s.known = {};
  }
  follow(s, job);
}

void HearingStage::follow(StreamState& state, const ChunkJob&) const {
  auto& stream = static_cast<PieceStream&>(state);
  if (stream.number >= stream.pieces.size()) return;
  if (++stream.chunk < chunks(stream.pieces[stream.number].samples)) return;
  ++stream.number;
  stream.chunk = 0;
}

}  // namespace syrinx::step_audio2
