#include "families/opuslm/hearing.h"

#include <algorithm>

#include "base/check.h"
#include "families/loading/recorded_voice.h"
#include "families/opuslm/answer.h"
#include "families/opuslm/voice.h"

namespace syrinx::opuslm {
namespace {

constexpr double kMostVoiceSeconds = 30;  // the model uses only the first ten seconds
constexpr int64_t kUnitRows = 64;         // rows that a piece of k-means processes

using EarsFound = const Ears*;

Pieces hear(const EarsFound& ears, RecordedVoice& recorded) {
  recorded.resample(Ears::kSampleRate, Resampling::kHann);
  co_await PieceEnd();
  Tensor frames;
  for (Pieces p = ears->run(recorded.ctx_slot(), recorded.samples, frames); !p.done(); p.next()) {
    co_await PieceEnd();
  }
  recorded.voice.tensors.emplace(kVoiceCodes, std::move(frames));
}

}  // namespace

Ears::Ears(Xeus xeus, NearestEntry units, EspnetEncoder codec)
    : xeus_(std::move(xeus)), units_(std::move(units)), codec_(std::move(codec)) {}

int64_t Ears::frames(int64_t samples) const {
  return std::min(Xeus::rows(samples), codec_.frames(samples));
}

int64_t Ears::pieces(int64_t samples) const {
  return xeus_.pieces(samples) + Xeus::rows(samples) / kUnitRows + codec_.pieces(samples);
}

Pieces Ears::run(StepContext* const& ctx, std::span<const float> samples, Tensor& frames) const {
  const int64_t total = this->frames(std::ssize(samples));
  std::vector<int32_t> units(static_cast<size_t>(total));
  {
    Tensor rows;
    for (Pieces p = xeus_.run(ctx, samples, rows); !p.done(); p.next()) co_await PieceEnd();
    for (int64_t at = 0; at < total; at += kUnitRows) {
      const int64_t n = std::min(kUnitRows, total - at);
      units_.find(*ctx, rows.view().slice(at, at + n),
                  std::span(units).subspan(static_cast<size_t>(at), static_cast<size_t>(n)));
      co_await PieceEnd();
    }
  }
  Tensor codes;
  for (Pieces p = codec_.run(ctx, samples, codes); !p.done(); p.next()) co_await PieceEnd();
  const int64_t books = codes.shape()[1];
  frames = Tensor({total, 1 + books}, DType::kI32);
  for (int64_t t = 0; t < total; ++t) {
    int32_t* frame = frames.i32() + t * (1 + books);
    frame[0] = units[static_cast<size_t>(t)];
    std::copy_n(codes.i32() + t * books, books, frame + 1);
  }
}

struct HearingStage::Stream : StreamState {
  struct Part {
    int64_t samples = 0, due = 0;  ///< due: number of input frames for the recording
  };
  std::vector<Part> parts;  // the recordings
  size_t number = 0;        // index of the recording that is being encoded
  int64_t taken = 0;        // input frames of that recording so far
  std::vector<float> samples;
  StepContext* ctx = nullptr;
  Tensor frames;
  Pieces work;
  int64_t told = 0;  // output frames of that recording so far
};

int64_t HearingStage::frames_in(const Ears& ears, int64_t samples) {
  return (samples + kWidth - 1) / kWidth + ears.pieces(samples) +
         (ears.frames(samples) + kMostOut - 1) / kMostOut;
}

Bundle HearingStage::bundle(const Sequence& sequence) const {
  Bundle bundle;
  std::vector<int32_t> samples;
  // A request to read a text aloud has no recordings.
  if (const auto* answer = dynamic_cast<const Answer*>(&sequence)) {
    for (const Heard& each : answer->heard()) samples.push_back(static_cast<int32_t>(each.samples));
  }
  bundle.set("samples", std::move(samples));
  return bundle;
}

std::unique_ptr<StreamState> HearingStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  for (const int32_t samples : bundle.ints("samples")) {
    if (samples < Ears::kLeast)
      throw LoadError(
          concat("a recording has ", samples, " samples; expected at least ", Ears::kLeast));
    stream->parts.push_back({samples, frames_in(ears_.get(), samples)});
  }
  return stream;
}

/// Processes one input frame.
void HearingStage::take(StepContext& ctx, Stream& s, std::span<const float> samples,
                        std::vector<float>& heard) const {
  SYRINX_CHECK(s.number < s.parts.size(), "[hearing] more frames than recordings");
  const Stream::Part part = s.parts[s.number];
  const Ears& ears = ears_.get();
  const int64_t out = (ears.frames(part.samples) + kMostOut - 1) / kMostOut;
  const auto there = std::ssize(s.samples);
  ++s.taken;
  s.ctx = &ctx;
  if (there < part.samples) {
    const auto more = static_cast<size_t>(std::min<int64_t>(kWidth, part.samples - there));
    s.samples.insert(s.samples.end(), samples.begin(), samples.begin() + more);
    if (std::ssize(s.samples) == part.samples) s.work = ears.run(s.ctx, s.samples, s.frames);
    return;
  }
  const bool reporting = s.taken > part.due - out;
  // The number of pieces is only estimated. At the end, all remaining pieces run at once.
  for (bool once = true; !s.work.done() && (once || reporting); once = false) {
    const Arena::Mark mark(ctx.arena);
    s.work.next();
  }
  if (!reporting) return;
  const int64_t total = s.frames.shape()[0], end = std::min(total, s.told + kMostOut);
  for (int64_t i = s.told * streams_; i < end * streams_; ++i) {
    heard.push_back(static_cast<float>(s.frames.i32()[i]));
  }
  s.told = end;
  if (s.taken < part.due) return;
  SYRINX_CHECK(s.told == total, "[hearing] made ", s.told, " of ", total, " frames");
  ++s.number;
  s.taken = s.told = 0;
  s.work = {};
  s.samples.clear();
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  std::vector<float> heard;
  for (ChunkJob& job : jobs) {
    heard.clear();
    for (int frame = job.left; frame < job.left + job.fresh; ++frame) {
      take(ctx, *static_cast<Stream*>(job.state),
           job.values.subspan(static_cast<size_t>(frame) * kWidth, kWidth), heard);
    }
    std::copy(heard.begin(), heard.end(), job.out.begin());
    job.made = static_cast<int>(std::ssize(heard) / streams_);
  }
}

std::unique_ptr<VoiceEncoder> make_voices(const LazyEars& ears) {
  VoiceEncoderInfo info{.family = kFamily,
                        .version = "1",
                        .modes = {{"in-context", false}},
                        .min_s = 1,
                        .max_s = kMostVoiceSeconds};
  return std::make_unique<RecordedVoices<EarsFound>>(
      std::move(info), [&ears] { return &ears.get(); }, hear);
}

}  // namespace syrinx::opuslm
