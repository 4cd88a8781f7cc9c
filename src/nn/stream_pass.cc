#include "nn/stream_pass.h"

namespace syrinx {

void run_passes(StepContext& ctx, std::span<const int64_t> frames, int64_t most,
                FunctionRef<int64_t(size_t job)> room,
                FunctionRef<void(std::span<const PassPart>)> run) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  std::span<int64_t> done = take_array<int64_t>(ctx, std::ssize(frames));
  std::span<PassPart> parts = take_array<PassPart>(ctx, std::ssize(frames));
  for (size_t first = 0; first < frames.size();) {
    int64_t total = 0;
    size_t count = 0;
    for (size_t job = first; job < frames.size() && total < most; ++job) {
      if (done[job] == frames[job]) continue;
      const int64_t n = std::min({frames[job] - done[job], most - total, room(job)});
      SYRINX_CHECK(n > 0, "[run_passes] room() returned 0 for job ", job);
      parts[count++] = {job, done[job], total, n};
      done[job] += n;
      total += n;
    }
    if (count > 0) run(parts.first(count));
    while (first < frames.size() && done[first] == frames[first]) ++first;
  }
}

StreamPass::StreamPass(StepContext& ctx, std::span<const PassPart> parts,
                       FunctionRef<std::span<ConvState>(size_t part)> convs)
    : parts_(parts), convs_(take_array<std::span<ConvState>>(ctx, std::ssize(parts))) {
  for (size_t i = 0; i < parts.size(); ++i) {
    convs_[i] = convs(i);
    frames_ += parts[i].frames;
  }
}

}  // namespace syrinx
