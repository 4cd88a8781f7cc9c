#include "engine/executor.h"

#include "base/clock.h"
#include "base/fault.h"

namespace syrinx {

void Executor::run(Batch& batch) {
  batch.began_s = now_s();
  const bool steps = batch.kind() == Plan::kAr, elsewhere = steps && batch.ar().remote();
  const std::optional<std::string> fault = fault_of([&] {
    if (!steps) return runner_.run(batch.stage(), batch.jobs());
    if (elsewhere) return batch.ar().step(batch.step(), batch);
    runner_.run(batch.ar(), batch.step(), batch);
  });
  if (fault) batch.fault = *fault;
  batch.replayed = !elsewhere && runner_.played();
  batch.recalled = !elsewhere && runner_.recalled();
  batch.ended_s = now_s();
}

}  // namespace syrinx
