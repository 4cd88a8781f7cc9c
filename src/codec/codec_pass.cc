#include "codec/codec_pass.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx {
namespace {

template <typename Job, typename Values>
std::span<FrameJob> outputs_of(StepContext& ctx, std::span<const Job> jobs, int64_t width,
                               Values values) {
  const std::span<FrameJob> out = take_array<FrameJob>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int64_t count = std::ssize(jobs[i].*values);
    SYRINX_CHECK(count % width == 0, "[codec] ", count, " values are not frames of ", width);
    out[i] = {jobs[i].state, count / width, jobs[i].out};
  }
  return out;
}

}  // namespace

CodecState CodecState::clone() const {
  CodecState copy;
  copy.frames = frames;
  for (const ConvState& conv : convs) copy.convs.push_back(conv.clone());
  for (const StreamKv& one : kv) copy.kv.push_back(one.clone());
  return copy;
}

std::span<FrameJob> frame_jobs(StepContext& ctx, std::span<const CodecJob> jobs, int64_t width) {
  return outputs_of(ctx, jobs, width, &CodecJob::codes);
}

std::span<FrameJob> frame_jobs(StepContext& ctx, std::span<const LatentJob> jobs, int64_t width) {
  return outputs_of(ctx, jobs, width, &LatentJob::latents);
}

void check_codes(std::span<const int32_t> codes, int64_t below) {
  for (const int32_t code : codes)
    SYRINX_CHECK(code >= 0 && code < below, "[codec] code ", code, " must be below ", below);
}

CodecPass::CodecPass(StepContext& ctx, std::span<const PassPart> parts,
                     std::span<const FrameJob> jobs)
    : StreamPass(ctx, parts,
                 [&](size_t i) { return std::span<ConvState>(jobs[parts[i].job].state->convs); }),
      jobs_(jobs) {}

std::span<const StreamRows> CodecPass::rows(StepContext& ctx, size_t number, int64_t rate) const {
  const std::span<StreamRows> rows = take_array<StreamRows>(ctx, std::ssize(parts()));
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = {&state(parts()[i]).kv[number], parts()[i].frames * rate};
  return rows;
}

View CodecPass::latents(StepContext& ctx, std::span<const LatentJob> jobs, int64_t width) const {
  const View x = take_rows(ctx, frames(), width);
  for (const PassPart& part : parts()) {
    store(ctx, jobs[part.job].latents.subspan(part.from * width, part.frames * width),
          x.slice(part.begin, part.begin + part.frames));
  }
  return x;
}

void decode_frames(StepContext& ctx, std::span<const FrameJob> jobs, int64_t hop, int64_t most,
                   FunctionRef<int64_t(CodecState& state)> room,
                   FunctionRef<View(CodecPass& pass)> network) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<int64_t> frames = take_array<int64_t>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    frames[i] = jobs[i].frames;
    SYRINX_CHECK(std::ssize(jobs[i].out) == frames[i] * hop, "[codec] ", frames[i],
                 " frames do not match ", jobs[i].out.size(), " samples");
  }
  run_passes(
      ctx, frames, most, [&](size_t job) { return room(*jobs[job].state); },
      [&](std::span<const PassPart> parts) {
        const Arena::Mark pass_mark(ctx.arena), pass_host_mark(ctx.host);
        CodecPass pass(ctx, parts, jobs);
        const View samples = network(pass).reshape({pass.frames() * hop, 1});
        for (const PassPart& part : parts) {
          fetch(ctx, samples.slice(part.begin * hop, (part.begin + part.frames) * hop),
                jobs[part.job].out.subspan(part.from * hop, part.frames * hop));
          pass.state(part).frames += part.frames;
        }
      });
}

}  // namespace syrinx
