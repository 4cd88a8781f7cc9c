// Available memory, checked before a large allocation: a size that does not fit is then an error
// with figures, instead of the end of the process. Free functions; any thread.
#pragma once

#include <cstdint>
#include <new>
#include <string>

namespace syrinx {

/// Returns the bytes available without swapping: the smaller of the machine's and of the process's
/// control group's. A large number if neither is known.
int64_t available_memory();

/// Returns "26.8 GB"; for messages.
std::string shown_bytes(int64_t bytes);

/// More memory was requested than is available; what() has both figures.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Throws OutOfMemory if `bytes` are not available. Small amounts are not checked.
void expect_memory(int64_t bytes);

}  // namespace syrinx
