#include "model/stage_runner.h"

#include "base/fault.h"

namespace syrinx {

StageRunner::StageRunner(int threads, StepOptions options)
    : pool_(threads), steps_(std::move(options)) {}

void StageRunner::run(const ChunkStage& stage, std::span<ChunkJob> jobs) {
  run_on(stage.device(), StreamPriority::kNormal, [&](StepContext& ctx) {
    if (!ctx.stream) return stage.run(ctx, jobs);
    ctx.stream->repeat([&] { stage.run(ctx, jobs); });
  });
}

void StageRunner::run(const ArStage& stage, const Step& step, StepResults& out) {
  run_on(stage.device(), StreamPriority::kHigh,
         [&](StepContext& ctx) { steps_.run(ctx, stage, step, out); });
}

void StageRunner::run_on(Device device, StreamPriority priority,
                         FunctionRef<void(StepContext&)> work) {
  if (device == Device::kCpu) priority = StreamPriority::kNormal;
  Workspace& space = spaces_.try_emplace({device, priority}, pool_, device, priority).first->second;
  space.reset();
  StepContext& ctx = space.context();
  const uint64_t played = ctx.stream ? ctx.stream->played() : 0;
  const uint64_t recalled = ctx.stream ? ctx.stream->recalled() : 0;
  played_ = recalled_ = false;
  try {
    work(ctx);
    synchronize(ctx);
  } catch (...) {
    // Waits for the copies to the host that were queued before the fault. This may fail again.
    static_cast<void>(fault_of([&] { synchronize(ctx); }));
    throw;
  }
  played_ = ctx.stream && ctx.stream->played() != played;
  recalled_ = ctx.stream && ctx.stream->recalled() != recalled;
}

}  // namespace syrinx
