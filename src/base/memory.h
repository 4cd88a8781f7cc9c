// Available memory, checked before a large allocation. A size that does not fit causes an error
// with figures, instead of the end of the process. Free functions; any thread.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string>

namespace syrinx {

/// Returns the bytes available without swapping: the smaller of the machine's memory and the limit
/// of the process's control group. Empty if neither is known.
std::optional<int64_t> available_memory();

/// Returns the bytes that the control groups of a process and their parents may still allocate;
/// empty without a limit. `groups`: the text of /proc/self/cgroup. `mount`: the folder of
/// control groups, of version 1 or 2. In a container, this folder may be only the container's
/// own group.
std::optional<int64_t> group_memory(const std::string& groups, const std::string& mount);

/// Returns a size for messages, e.g. "26.8 GB".
std::string shown_bytes(int64_t bytes);

/// Reports that more memory was requested than is available. what() has both figures.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Throws OutOfMemory if `bytes` are not available. Amounts below 16 MiB are not checked.
void expect_memory(int64_t bytes);

}  // namespace syrinx
