#include "base/cores.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/number.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace syrinx {
namespace {

/// Parses all of `text` as a number; returns -1 if it is not a number.
int node_number(std::string_view text) {
  int value = -1;
  return parse_number(text, value) && value >= 0 ? value : -1;
}

/// Parses a list of cores in the kernel's format, e.g. "0-3,8".
std::vector<int> cores_in(std::string_view list, const std::string& path) {
  constexpr int kMost = 1 << 16;
  std::vector<int> cores;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    const size_t dash = part.find('-');
    const int first = node_number(part.substr(0, dash));
    const int last = dash == part.npos ? first : node_number(part.substr(dash + 1));
    if (first < 0 || last < first || last >= kMost) {
      throw LoadError(path + ": '" + std::string(part) + "' is not a list of cores");
    }
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  std::sort(cores.begin(), cores.end());
  return cores;
}

std::string ids_of(const std::vector<CoreNode>& nodes) {
  std::string ids;
  for (const CoreNode& node : nodes) ids += (ids.empty() ? "" : ", ") + std::to_string(node.id);
  return ids;
}

#if defined(__linux__)
/// A set of cores with space for more cores than the kernel supports.
class CoreSet {
 public:
  /// Returns the cores of the calling thread.
  static CoreSet now() {
    CoreSet set;
    if (sched_getaffinity(0, sizeof set.bits_, set.bits_) != 0)
      CPU_ZERO_S(sizeof set.bits_, set.bits_);
    return set;
  }
  bool has(int core) const { return CPU_ISSET_S(core, sizeof bits_, bits_); }
  void add(int core) { CPU_SET_S(core, sizeof bits_, bits_); }
  int count() const { return CPU_COUNT_S(sizeof bits_, bits_); }
  bool apply() const { return sched_setaffinity(0, sizeof bits_, bits_) == 0; }

 private:
  cpu_set_t bits_[8] = {};
};
#endif

}  // namespace

int usable_cores() {
#if defined(__linux__)
  if (const int count = CoreSet::now().count(); count > 0) return count;
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::vector<CoreNode> core_nodes(const std::string& directory) {
  std::vector<CoreNode> nodes;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename();
    const int id = name.starts_with("node") ? node_number(std::string_view(name).substr(4)) : -1;
    if (id < 0) continue;
    const std::string path = entry.path() / "cpulist";
    std::ifstream file(path);
    std::string list;
    std::getline(file, list);
    std::vector<int> cores = cores_in(list, path);
    if (!cores.empty()) nodes.push_back({id, std::move(cores)});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const CoreNode& a, const CoreNode& b) { return a.id < b.id; });
  return nodes;
}

void stay_on(int node, const std::vector<CoreNode>& nodes) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const CoreNode& each) { return each.id == node; });
  if (found == nodes.end()) {
    throw LoadError("this machine has no NUMA node " + std::to_string(node) + "; it has " +
                    (nodes.empty() ? "no nodes" : ids_of(nodes)));
  }
#if defined(__linux__)
  const CoreSet before = CoreSet::now();
  CoreSet after;
  for (const int core : found->cores) {
    if (before.has(core)) after.add(core);
  }
  if (after.count() == 0 || !after.apply()) {
    throw LoadError("this process may use no core of NUMA node " + std::to_string(node));
  }
#endif
}

}  // namespace syrinx
