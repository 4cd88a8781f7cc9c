#include "base/memory.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>

namespace syrinx {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
constexpr int64_t kAskFrom = 16 << 20;  // bytes; the check itself takes some microseconds

/// Returns the number after `key` in a file with lines "key number".
int64_t number_after(const char* path, const std::string& key) {
  std::ifstream in(path);
  std::string word, rest;
  for (int64_t value = 0; in >> word; std::getline(in, rest)) {
    if (word == key) return in >> value ? value : kUnknown;
  }
  return kUnknown;
}

/// Returns what the process's control group (version 2) may still allocate.
int64_t group_memory() {
  std::ifstream in("/sys/fs/cgroup/memory.max");
  int64_t most = 0;
  if (!(in >> most)) return kUnknown;  // "max", or the file does not exist
  const int64_t used = number_after("/sys/fs/cgroup/memory.stat", "anon");
  return used == kUnknown ? kUnknown : std::max<int64_t>(0, most - used);
}

}  // namespace

int64_t available_memory() {
  const int64_t kib = number_after("/proc/meminfo", "MemAvailable:");
  return std::min(kib == kUnknown ? kUnknown : kib * 1024, group_memory());
}

std::string shown_bytes(int64_t bytes) {
  char text[32];
  const auto amount = static_cast<double>(bytes);
  if (bytes < 1'000'000'000) {
    std::snprintf(text, sizeof text, "%.1f MB", amount / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.1f GB", amount / 1e9);
  }
  return text;
}

void expect_memory(int64_t bytes) {
  if (bytes < kAskFrom) return;
  const int64_t there = available_memory();
  if (bytes <= there) return;
  throw OutOfMemory(shown_bytes(bytes) + " of memory are needed, " + shown_bytes(there) +
                    " are there");
}

}  // namespace syrinx
