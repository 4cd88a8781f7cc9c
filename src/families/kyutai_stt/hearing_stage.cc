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
    : config_(config), encoder_(config.mimi, mimi), tables_(std::move(tables)) {}

std::unique_ptr<StreamState> HearingStage::open(Bundle) const {
  return std::make_unique<HearingStream>(encoder_.open());
}

int HearingStage::cut(const StreamState&, const WaitingFrames& waiting, int) const {
  return static_cast<int>(std::min(kMostFrames, std::ssize(waiting.values) / in_width()));
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t books = config_.mimi.codebooks, hop = in_width();
  int64_t frames = 0;
  for (const ChunkJob& job : jobs) frames += job.fresh;
  const std::span<int32_t> codes = take_array<int32_t>(ctx, frames * books);
  int64_t row = 0;
  for (ChunkJob& job : jobs) {
    auto& stream = static_cast<HearingStream&>(*job.state);
    const int64_t first = row;
    const bool begins = job.fresh > 0 && !std::exchange(stream.begun, true);
    const int64_t unheard = begins && config_.transformers ? 1 : 0;
    row += unheard;
    for (int64_t at = unheard; at < job.fresh;) {
      const int64_t n = std::min(job.fresh - at, encoder_.room(ctx, stream.mimi));
      encoder_.run(ctx, stream.mimi,
                   job.values.subspan(static_cast<size_t>(at * hop), static_cast<size_t>(n * hop)),
                   codes.subspan(static_cast<size_t>(row * books), static_cast<size_t>(n * books)));
      at += n, row += n;
    }
    if (!begins) continue;
    std::ranges::fill(codes.subspan(static_cast<size_t>(first * books), static_cast<size_t>(books)),
                      static_cast<int32_t>(config_.card));
  }
  const View rows = take_rows(ctx, frames, out_width());
  embed_sum(ctx, tables_, codes, rows);
  const float* from = rows.f32();
  for (ChunkJob& job : jobs) {
    const int64_t values = job.fresh * int64_t{out_width()};
    std::copy_n(from, values, job.out.begin());
    from += values;
  }
}

size_t HearingStage::bytes() const { return bytes_of(encoder_, tables_); }

}  // namespace syrinx::kyutai_stt
