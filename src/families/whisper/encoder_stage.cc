#include "families/whisper/encoder_stage.h"

#include <algorithm>

#include "families/whisper/decoder_text.h"

namespace syrinx::whisper {
namespace {

struct EncoderStream : StreamState {
  WhisperEncoder::Work work;
  int pieces_left = 0;
};

}  // namespace

Bundle EncoderStage::bundle(const Sequence& sequence) const {
  // A request whose rows are given needs no encoder.
  const WhisperWindow none;
  const WhisperWindow* given = static_cast<const DecoderText&>(sequence).audio();
  const WhisperWindow& audio = given != nullptr ? *given : none;
  Bundle bundle;
  bundle.set("lead", static_cast<uint64_t>(audio.lead));
  bundle.set("frames", static_cast<uint64_t>(audio.frames));
  bundle.set("rows", static_cast<uint64_t>(audio.rows));
  bundle.set("loudest", std::vector<float>{audio.loudest});
  return bundle;
}

std::unique_ptr<StreamState> EncoderStage::open(Bundle bundle) const {
  WhisperWindow told;  // window of the request; its samples arrive as frames
  told.lead = static_cast<int>(bundle.number("lead", WhisperWindow::kMargin));
  told.frames = static_cast<int>(bundle.number("frames", WhisperWindow::kFrames));
  told.rows = static_cast<int>(bundle.number("rows", WhisperEncoder::kRows));
  told.loudest = bundle.single("loudest");
  auto stream = std::make_unique<EncoderStream>();
  stream->work = encoder_.open(told);
  stream->pieces_left = encoder_.pieces();
  return stream;
}

int EncoderStage::cut(const StreamState& state, const WaitingFrames& waiting, int) const {
  const int left = static_cast<const EncoderStream&>(state).pieces_left;
  return left > 1 ? 1 : static_cast<int>(std::ssize(waiting.values)) / WhisperWindow::kHop;
}

void EncoderStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (ChunkJob& job : jobs) {
    WhisperEncoder::Work& work = static_cast<EncoderStream&>(*job.state).work;
    encoder_.run(ctx, work, job.values);
    job.made = 0;
    follow(*job.state, job);
    if (!work.done()) continue;
    const View& rows = work.rows();
    SYRINX_CHECK(rows.count() <= std::ssize(job.out), "[encoder_stage] ", rows.shape[0],
                 " rows do not fit in ", job.fresh, " frames");
    fetch(ctx, rows, job.out.first(static_cast<size_t>(rows.count())));
    job.made = static_cast<int>(rows.shape[0]);
  }
  synchronize(ctx);
  for (const ChunkJob& job : jobs) {
    WhisperEncoder::Work& work = static_cast<EncoderStream&>(*job.state).work;
    if (work.done()) work = {};
  }
}

void EncoderStage::follow(StreamState& state, const ChunkJob&) const {
  --static_cast<EncoderStream&>(state).pieces_left;
}

}  // namespace syrinx::whisper
