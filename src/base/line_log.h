// Lines for a descriptor that may block or fail, such as the standard error behind a pipe. A
// program that serves never waits for its log: one thread writes, lines wait in a bounded queue,
// and lines that find no room or cannot be written are dropped and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace syrinx {

struct LineLogOptions {
  int descriptor = 2;          ///< borrowed; open as long as the process lives
  size_t max_bytes = 1 << 20;  ///< of the lines that wait
  double patience_s = 1;       ///< how long the destructor waits for the queue
};

/// A bounded queue of lines and the thread that writes them.
class LineLog {
 public:
  explicit LineLog(const LineLogOptions& options = {});
  /// Returns when all lines are written, or after patience_s: the rest is dropped.
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  /// Adds a line, without its end. Never waits for the descriptor; any thread. When writing goes on
  /// after lines were dropped, one line in their place says how many.
  void add(const std::string& line);
  /// Counts the lines that were dropped so far; any thread.
  uint64_t dropped() const;

 private:
  struct State;
  const std::shared_ptr<State>
      state_;  // shared with the writing thread, which may be stuck for ever
};

}  // namespace syrinx
