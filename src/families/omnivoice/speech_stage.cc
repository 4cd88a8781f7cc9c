#include "families/omnivoice/speech_stage.h"

#include <algorithm>

#include "families/omnivoice/state.h"

namespace syrinx::omnivoice {

struct SpeechStage::Stream : StreamState {
  std::unique_ptr<StreamState> codec;
  float gain = 1;
  int64_t sent = 0;  // samples
};

Bundle SpeechStage::bundle(const Sequence& sequence) const {
  Bundle bundle;
  bundle.set("gain", std::vector<float>{dynamic_cast<const State&>(sequence).gain()});
  return bundle;
}

std::unique_ptr<StreamState> SpeechStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  stream->gain = bundle.single("gain");
  stream->codec = CodecStage::open({});
  return stream;
}

int SpeechStage::lookahead() const {
  const int64_t hop = codec().config().hop();
  return static_cast<int>(std::max(codec().config().lookahead(), (fade() + hop - 1) / hop));
}

void SpeechStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  const std::span<Stream*> streams = take_array<Stream*>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    streams[i] = static_cast<Stream*>(jobs[i].state);
    jobs[i].state = streams[i]->codec.get();
  }
  CodecStage::run(ctx, jobs);
  const int64_t length = fade();
  const auto slope = static_cast<float>(length - 1);
  for (size_t n = 0; n < jobs.size(); ++n) {
    ChunkJob& job = jobs[n];
    Stream& stream = *streams[n];
    job.state = &stream;
    const std::span<float> out = job.out;
    for (float& x : out) x *= stream.gain;
    for (int64_t i = 0; i < std::ssize(out) && stream.sent + i < length; ++i)
      out[static_cast<size_t>(i)] *= static_cast<float>(stream.sent + i) / slope;
    // Before the end of the stream, lookahead() frames follow the chunk, so it has no fade-out.
    const int64_t after = job.last ? job.ahead * codec().config().hop() : length;
    for (int64_t i = std::ssize(out) - 1, rest = after; i >= 0 && rest < length; --i, ++rest)
      out[static_cast<size_t>(i)] *= static_cast<float>(rest) / slope;
    stream.sent += std::ssize(out);
  }
}

}  // namespace syrinx::omnivoice
