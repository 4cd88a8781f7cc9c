// For tests: runs work that is cut into pieces.
#pragma once

#include "base/pieces.h"
#include "kernels/fixture.h"

namespace syrinx::fixture {

/// Runs pieces that need a context, with an arena that is empty before each piece.
struct PieceRunner {
  explicit PieceRunner(int threads = 1) : bench(threads) {}
  /// Runs all pieces; returns their number.
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
