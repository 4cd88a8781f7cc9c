// Which process runs which node of a model: from options, one by one, or a file for all.
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"

namespace syrinx {

/// Where a node's stage runs; a node may be in several places.
struct Placement {
  std::string node;
  std::string address;  ///< of the process that holds it (transport.h)
};

/// How many processes hold stages: batches of them may be under way at once.
int remote_slots(const std::vector<Placement>& placements);

/// Contents of a file: YAML, a line for each node with `here`, the address of the process that
/// holds it, or a list of such addresses ([a, b]).
struct PlacementFile {
  std::string path;
  std::vector<Placement> elsewhere;
  std::vector<std::string> here;
};
/// Throws LoadError naming the file and the line or node.
PlacementFile read_placement(const std::string& path);
/// Throws LoadError where the file misses a node of the graph, or names an unknown one.
void check_placement(const PlacementFile& file, const Graph& graph);

}  // namespace syrinx
