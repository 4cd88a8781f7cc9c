// Writes lines to a descriptor that may block or fail, such as the standard error behind a pipe. A
// server never waits for its log: one thread writes, and lines wait in a bounded queue. If the
// queue is full or writing fails, lines are dropped and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace syrinx {

struct LineLogOptions {
  int descriptor = 2;          ///< borrowed; must stay open while the process runs
  size_t max_bytes = 1 << 20;  ///< most bytes of the waiting lines
  double patience_s = 1;       ///< most seconds that the destructor waits for the queue
};

/// A bounded queue of lines and the thread that writes them.
class LineLog {
 public:
  explicit LineLog(const LineLogOptions& options = {});
  /// Returns when all lines are written, or after patience_s; remaining lines are dropped.
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  /// Adds a line, without its line end. Never waits for the descriptor; any thread. After lines
  /// were dropped and writing works again, a line in their place reports their number.
  void add(const std::string& line);
  /// Returns the number of lines dropped so far; any thread.
  uint64_t dropped() const;

 private:
  struct State;
  const std::shared_ptr<State>
      // Shared with the writing thread, which may block forever.
      state_;
};

}  // namespace syrinx
