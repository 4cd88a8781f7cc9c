#include "base/memory.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

namespace syrinx {
namespace {

constexpr int64_t kAskFrom = 16 << 20;  // bytes; smaller allocations are not checked
/// Control groups of version 1 report about 2^63 bytes if memory has no bound.
constexpr int64_t kNoBound = int64_t{1} << 62;

/// Returns the number after `key` in a file with lines "key number".
std::optional<int64_t> number_after(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  std::string word, rest;
  for (int64_t value = 0; in >> word; std::getline(in, rest)) {
    if (word == key) return in >> value ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// Returns the bytes that a control group of version 2 may still allocate.
std::optional<int64_t> room_of_group(const std::string& folder) {
  std::ifstream in(folder + "/memory.max");
  int64_t most = 0;
  if (!(in >> most)) return std::nullopt;  // "max", or the file does not exist
  const auto used = number_after(folder + "/memory.stat", "anon");
  return used ? std::optional(std::max<int64_t>(0, most - *used)) : std::nullopt;
}

/// Returns the bytes that a control group of version 1 and its parents may still allocate.
std::optional<int64_t> room_of_old_group(const std::string& folder) {
  const auto most = number_after(folder + "/memory.stat", "hierarchical_memory_limit");
  const auto used = number_after(folder + "/memory.stat", "total_rss");
  if (!most || !used || *most >= kNoBound) return std::nullopt;
  return std::max<int64_t>(0, *most - *used);
}

/// Calls visit() with `mount` + `group` and with all folders above it, `mount` last.
template <typename Visit>
void upwards(const std::string& mount, std::string group, Visit&& visit) {
  while (group.ends_with('/')) group.pop_back();
  for (;; group.resize(group.rfind('/'))) {
    visit(mount + group);
    if (!group.starts_with('/')) return;
  }
}

}  // namespace

std::optional<int64_t> group_memory(const std::string& groups, const std::string& mount) {
  std::optional<int64_t> room;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/a/b", "0::/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = ",";
    controllers.append(line, first + 1, second - first);
    controllers.back() = ',';
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      upwards(mount, group,
              [&](const std::string& folder) { room = smaller(room, room_of_group(folder)); });
    } else if (controllers.find(",memory,") != std::string::npos) {
      upwards(mount + "/memory", group,
              [&](const std::string& folder) { room = smaller(room, room_of_old_group(folder)); });
    }
  }
  return room;
}

std::optional<int64_t> available_memory() {
  std::optional<int64_t> machine = number_after("/proc/meminfo", "MemAvailable:");
  if (machine) *machine *= 1024;
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Without /proc the process's group is unknown, but the mounted folder itself may have a limit.
  return smaller(machine, group_memory(groups.empty() ? "0::/\n" : groups, "/sys/fs/cgroup"));
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
  const auto there = available_memory();
  if (!there || bytes <= *there) return;
  throw OutOfMemory(shown_bytes(bytes) + " of memory are needed, but only " + shown_bytes(*there) +
                    " are free");
}

}  // namespace syrinx
