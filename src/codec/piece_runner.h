// For tests: runs work that is divided into pieces.
#pragma once

#include "base/pieces.h"
#include "kernels/fixture.h"

namespace syrinx::fixture {

/// Runs pieces that need a context. The arena is empty before each piece.
struct PieceRunner {
  explicit PieceRunner(int threads = 1) : bench(threads) {}
  /// Runs all pieces, and returns their number.
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
