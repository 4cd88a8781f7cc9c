#include "families/kokoro/speech_stage.h"

#include <algorithm>
#include <optional>

#include "families/kokoro/state.h"

namespace syrinx::kokoro {

struct SpeechStage::Stream : StreamState {
  uint64_t seed = 0;
  std::vector<float> voice;    // [phonemes, 2 style]
  int64_t pitches_before = 0;  // number of pitch values of earlier utterances, two per frame
};

Bundle SpeechStage::bundle(const Sequence& sequence) const {
  const auto& state = dynamic_cast<const KokoroState&>(sequence);
  Bundle bundle;
  bundle.set("seed", state.seed());
  bundle.set("voice", state.voice());
  return bundle;
}

std::unique_ptr<StreamState> SpeechStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  stream->seed = bundle.number("seed");
  stream->voice = bundle.floats("voice", config_.most_phonemes() * 2 * config_.style);
  return stream;
}

int SpeechStage::cut(const StreamState&, const WaitingFrames& waiting, int) const {
  const auto width = static_cast<size_t>(in_width());
  if (waiting.values.size() < width) return 0;
  const auto frames = static_cast<int64_t>(waiting.values.size() / width);
  const float told = waiting.values[width - kRowParts + kFrames];
  const bool sound = told >= 1 && told <= kMostFrames;
  if (!sound) return 1;  // run() reports the fault
  const auto wanted = static_cast<int64_t>(told);
  return static_cast<int>(frames >= wanted ? wanted : waiting.closed ? frames : 0);
}

void SpeechStage::run(StepContext& ctx, ChunkJob& job) const {
  auto& s = *static_cast<Stream*>(job.state);
  const auto width = static_cast<size_t>(in_width()), features = width - kRowParts;
  const std::span<const float> rows = job.values.subspan(static_cast<size_t>(job.left) * width);
  const float told = rows[features + kFrames], phonemes = rows[features + kPhonemes];
  if (told > kMostFrames) {
    job.fault = Error{ErrorCode::kInvalid,
                      concat("a sentence would last ", told / 40, " s, but the limit is ",
                             kMostFrames / 40, " s; shorten it or request a higher speed"),
                      "input"};
    job.made = 0;
    return;
  }
  if (static_cast<int>(told) != job.fresh || !(phonemes >= 1) ||
      phonemes > static_cast<float>(config_.most_phonemes())) {
    job.fault = Error{ErrorCode::kInternal, "[kokoro] a chunk is not one whole utterance", ""};
    job.made = 0;
    return;
  }
  std::vector<float> all(static_cast<size_t>(job.fresh) * features);
  int64_t rise = -1;
  for (size_t i = 0; i < static_cast<size_t>(job.fresh); ++i) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * width), features,
                all.begin() + static_cast<std::ptrdiff_t>(i * features));
    if (rows[i * width + features + kRises] > 0) rise = static_cast<int64_t>(i);
  }
  const std::vector<int32_t> once(static_cast<size_t>(job.fresh), 1);
  const auto style = static_cast<size_t>(2 * config_.style);
  const std::span<const float> voice =
      std::span<const float>(s.voice).subspan((static_cast<size_t>(phonemes) - 1) * style, style);
  const auto noise = [&](int64_t pitch, std::span<float> out) {
    philox_normal(s.seed, static_cast<uint32_t>(s.pitches_before + pitch), kSourceNoise, out);
  };
  const auto samples = static_cast<size_t>(job.fresh * config_.hop());
  voder_.run(ctx, {.features = all, .frames = once, .style = voice, .rise = rise}, noise,
             job.out.first(samples));
  s.pitches_before += 2 * int64_t{job.fresh};
  job.made = job.fresh;
}

void SpeechStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  constexpr int64_t kUsual = 480;  // frames of the longest usual sentence, 12 s
  voder_.reserve(ctx, kUsual);
  for (ChunkJob& job : jobs) {
    run(ctx, job);
  }
}

}  // namespace syrinx::kokoro
