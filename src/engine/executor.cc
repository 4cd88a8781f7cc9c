#include "engine/executor.h"

#include <utility>

#include "base/clock.h"
#include "base/fault.h"

namespace syrinx {

Executor::Executor(ExecutorOptions options)
    : pool_(options.threads),
      cpu_(pool_, Device::kCpu),
      steps_({options.greedy, std::move(options.watch)}) {}

StepContext& Executor::fresh_context(Device device, Plan::Kind kind) {
  cpu_.reset();
  if (device == Device::kCpu) return cpu_.context();
  const auto priority = kind == Plan::kAr ? StreamPriority::kHigh : StreamPriority::kNormal;
  Workspace& space = gpus_.try_emplace({device, kind}, pool_, device, priority).first->second;
  space.reset();
  return space.context();
}

void Executor::run(Batch& batch) {
  batch.began_s = now_s();
  batch.replayed = batch.recalled = false;
  StepContext* ctx = nullptr;
  const std::optional<std::string> fault = fault_of([&] {
    ctx = &fresh_context(batch.device(), batch.kind());
    const uint64_t played = ctx->stream ? ctx->stream->played() : 0;
    const uint64_t recalled = ctx->stream ? ctx->stream->recalled() : 0;
    if (batch.kind() == Plan::kAr) {
      run_step(*ctx, batch);
    } else if (ctx->stream) {
      ctx->stream->repeat([&] { batch.stage().run(*ctx, batch.jobs()); });
    } else {
      batch.stage().run(*ctx, batch.jobs());
    }
    synchronize(*ctx);
    batch.replayed = ctx->stream && ctx->stream->played() != played;
    batch.recalled = ctx->stream && ctx->stream->recalled() != recalled;
  });
  if (fault) {
    batch.fault = *fault;
    // Waits for the copies into the batch that were queued before the fault. It may fail again.
    if (ctx) static_cast<void>(fault_of([&] { synchronize(*ctx); }));
  }
  batch.ended_s = now_s();
}

void Executor::run_step(StepContext& ctx, Batch& batch) {
  if (batch.ar().remote()) {
    batch.ar().step(batch.step(), batch);
  } else {
    steps_.run(ctx, batch.ar(), batch.step(), batch);
  }
}

}  // namespace syrinx
