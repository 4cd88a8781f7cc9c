// For tests: runs what works in pieces.
#pragma once

#include "base/pieces.h"
#include "kernels/fixture.h"

namespace syrinx::fixture {

/// Runs pieces that need a context, with an arena that is empty at the start of each.
struct PieceRunner {
  explicit PieceRunner(int threads = 1) : bench(threads) {}
  /// How many there were.
  int run(Pieces pieces) {
    int count = 0;
    for (; !pieces.done(); ++count) {
      const Arena::Mark mark(bench.ctx.arena);
      pieces.next();
    }
    return count;
  }
  Bench bench;
  StepContext* ctx = &bench.ctx;
};

}  // namespace syrinx::fixture
