#include "families/kyutai_stt/hearing_stage.h"

#include <algorithm>

#include "kernels/embedding.h"
#include "nn/stream_pass.h"

namespace syrinx::kyutai_stt {
namespace {

constexpr int64_t kMostFrames =
    8;  // most frames of a stream in a chunk, so that others wait little

struct HearingStream : StreamState {
  explicit HearingStream(MimiEncoder::Stream fresh) : mimi(std::move(fresh)) {}
  MimiEncoder::Stream mimi;
  bool begun = false;
};

}  // namespace

HearingStage::HearingStage(const ModelConfig& config, std::vector<View> tables, const Weights& mimi)
    : config_(config),
      encoder_(config.mimi, mimi),
      tables_(std::move(tables)),
      before_(static_cast<size_t>(config.mimi.codebooks), static_cast<int32_t>(config.card)) {}

std::unique_ptr<StreamState> HearingStage::open(Bundle) const {
  return std::make_unique<HearingStream>(encoder_.open());
}

int HearingStage::cut(const StreamState&, const WaitingFrames& waiting, int) const {
  return static_cast<int>(std::min(kMostFrames, std::ssize(waiting.values) / in_width()));
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t books = config_.mimi.codebooks, hop = in_width();
  for (ChunkJob& job : jobs) {
    const Arena::Mark job_mark(ctx.arena);
    auto& stream = static_cast<HearingStream&>(*job.state);
    const View rows = take_rows(ctx, job.fresh, out_width());
    const bool begins = job.fresh > 0 && !std::exchange(stream.begun, true);
    const int64_t unheard = begins && config_.transformers ? 1 : 0;
    for (int64_t at = unheard; at < job.fresh;) {
      const int64_t n = std::min(job.fresh - at, encoder_.room(ctx, stream.mimi));
      const View codes = ctx.arena.take({n, books}, DType::kI32);
      encoder_.run(ctx, stream.mimi,
                   job.values.subspan(static_cast<size_t>(at * hop), static_cast<size_t>(n * hop)),
                   codes);
      embed_sum(ctx, tables_, codes, rows.slice(at, at + n));
      at += n;
    }
    if (begins) embed_sum(ctx, tables_, before_, rows.slice(0, 1));
    fetch(ctx, rows, job.out.first(static_cast<size_t>(rows.count())));
  }
}

size_t HearingStage::bytes() const { return weight_bytes(encoder_, tables_); }

}  // namespace syrinx::kyutai_stt
