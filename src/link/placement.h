// Which process runs which node of a model: read from an option for each node, or from a file.
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"

namespace syrinx {

/// A process that runs a node's stage; a node may have several placements.
struct Placement {
  std::string node;
  std::string address;  ///< address of the process that holds the stage (transport.h)
};

/// Returns how many processes hold stages; this many batches may run remotely at once.
int remote_slots(const std::vector<Placement>& placements);

/// The contents of a placement file, in YAML. It maps each node's name to `here`, to the address of
/// the process that holds the node, or to a list of addresses ([a, b], or a line "- a" for each).
struct PlacementFile {
  std::string path;
  std::vector<Placement> elsewhere;
  std::vector<std::string> here;
};
/// Reads a placement file. Throws LoadError with the file and the line or node.
PlacementFile read_placement(const std::string& path);
/// Throws LoadError if the file lacks a node of the graph or contains an unknown node.
void check_placement(const PlacementFile& file, const Graph& graph);

}  // namespace syrinx
