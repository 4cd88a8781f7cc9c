// How much memory may still be had, asked before much of it is taken: a size that does not fit is
// then an error with figures and not the end of the process. Free functions; any thread.
#pragma once

#include <cstdint>
#include <new>
#include <string>

namespace syrinx {

/// Bytes that may be taken without swapping: what the machine has, and the process's control group
/// allows. A large number where neither is known.
int64_t available_memory();

/// "26.8 GB"; for messages.
std::string shown_bytes(int64_t bytes);

/// More memory was wanted than there is; what() has both figures.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Throws OutOfMemory unless `bytes` are there. Small amounts are not asked for.
void expect_memory(int64_t bytes);

}  // namespace syrinx
