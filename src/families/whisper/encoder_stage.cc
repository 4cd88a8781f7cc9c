#include "families/whisper/encoder_stage.h"

#include <algorithm>

namespace syrinx::whisper {
namespace {

struct EncoderStream : StreamState {
  WhisperEncoder::Work work;
};

}  // namespace

std::unique_ptr<StreamState> EncoderStage::open(const Sequence& sequence) const {
  auto stream = std::make_unique<EncoderStream>();
  stream->work = encoder_.open(static_cast<const Dictation&>(sequence).window().audio);
  return stream;
}

int EncoderStage::cut(const StreamState& state, const WaitingFrames& waiting, int) const {
  const int left = static_cast<const EncoderStream&>(state).work.left();
  return left > 1 ? 1 : static_cast<int>(std::ssize(waiting.values)) / WhisperWindow::kHop;
}

void EncoderStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (ChunkJob& job : jobs) {
    WhisperEncoder::Work& work = static_cast<EncoderStream&>(*job.state).work;
    encoder_.run(ctx, work, job.values);
    job.made = 0;
    if (!work.done()) continue;
    const View& rows = work.rows();
    SYRINX_CHECK(rows.count() <= std::ssize(job.out), "[encoder_stage] ", job.fresh,
                 " frames left for ", rows.shape[0], " rows");
    std::copy_n(rows.f32(), rows.count(), job.out.begin());
    job.made = static_cast<int>(rows.shape[0]);
    work = {};
  }
}

}  // namespace syrinx::whisper
