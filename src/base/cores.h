// The cores of the machine that this process may use, and nodes: cores with memory of their own
// beside them (NUMA). Linux; elsewhere there is one node, which cannot be chosen. Any thread.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

/// How many cores this thread may run on (taskset, cpusets of a container, stay_on), at least 1.
int usable_cores();

/// A node of memory and its cores, by the system's numbers.
struct CoreNode {
  int id = 0;
  std::vector<int> cores;  ///< ascending
};

/// Nodes that have cores, by id, as the system's directory lists them (node0/cpulist, ...); empty
/// where there is none. Throws LoadError when a list of cores makes no sense.
std::vector<CoreNode> core_nodes(const std::string& directory = "/sys/devices/system/node");

/// From here on this thread, and those that it starts, run on the node's cores only, of which it
/// may use some already; the system gives a thread memory of the node that it runs on while there
/// is some. Throws LoadError when there is no such node or none of its cores may be used.
void stay_on(int node, const std::vector<CoreNode>& nodes);

}  // namespace syrinx
