// The cores of the machine that this process may use, and NUMA nodes: groups of cores with their
// own memory. For Linux; elsewhere there is one node, which cannot be chosen. Any thread.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

/// Returns how many cores this thread may use (taskset, cpusets of a container, stay_on), at least
/// 1.
int usable_cores();

/// A NUMA node and its cores, by the system's numbers.
struct CoreNode {
  int id = 0;
  std::vector<int> cores;  ///< ascending
};

/// Returns the nodes that have cores, by id, as listed in the system's directory (node0/cpulist,
/// ...); empty without that directory. Throws LoadError if a list of cores is invalid.
std::vector<CoreNode> core_nodes(const std::string& directory = "/sys/devices/system/node");

/// Restricts this thread, and threads that it starts later, to those cores of the node that it may
/// already use. The system then allocates the thread's memory on that node as long as there is
/// some. Throws LoadError if there is no such node or none of its cores may be used.
void stay_on(int node, const std::vector<CoreNode>& nodes);

}  // namespace syrinx
