// The cores of the machine that this process may use, and NUMA nodes: groups of cores with their
// own memory. For Linux. Other systems have one node, which cannot be selected. Any thread.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

/// Returns how many cores this thread may use, at least 1. taskset, a container's cpuset and
/// stay_on() reduce the number.
int usable_cores();

/// A NUMA node and its cores, with the numbers that the system gives them.
struct CoreNode {
  int id = 0;
  std::vector<int> cores;  ///< ascending
};

/// Returns the nodes that have cores, by id, as listed in the system's directory (node0/cpulist,
/// ...). Empty without that directory. Throws LoadError if a list of cores is invalid.
std::vector<CoreNode> core_nodes(const std::string& directory = "/sys/devices/system/node");

/// Restricts this thread, and threads that it starts later, to those cores of the node that this
/// thread may use now. The system then allocates memory for these threads on that node if possible.
/// Throws LoadError for an unknown node, or if none of its cores may be used.
void stay_on(int node, const std::vector<CoreNode>& nodes);

}  // namespace syrinx
