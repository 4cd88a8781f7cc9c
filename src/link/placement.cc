#include "link/placement.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "io/hyper_yaml.h"

namespace syrinx {

int remote_slots(const std::vector<Placement>& placements) {
  std::set<std::string> addresses;
  for (const Placement& placement : placements) addresses.insert(placement.address);
  return static_cast<int>(addresses.size());
}

PlacementFile read_placement(const std::string& path) {
  const HyperYaml yaml = HyperYaml::load(path);
  PlacementFile out{path, {}, {}};
  for (const std::string& node : yaml.keys()) {
    const std::vector<std::string> places = yaml.texts(node);
    const auto here = std::count(places.begin(), places.end(), "here");
    if (here > 0 && places.size() > 1) yaml.fail(node, "must have 'here' or addresses, not both");
    if (here > 0) {
      out.here.push_back(node);
      continue;
    }
    for (const std::string& address : places) out.elsewhere.push_back({node, address});
  }
  return out;
}

void check_placement(const PlacementFile& file, const Graph& graph) {
  std::set<std::string> told(file.here.begin(), file.here.end());
  for (const Placement& placement : file.elsewhere) told.insert(placement.node);
  for (const Node& node : graph.nodes()) {
    if (told.erase(node.name) == 0) {
      throw LoadError(file.path + ": lacks the node '" + node.name +
                      "'; give it an address, or 'here'");
    }
  }
  if (!told.empty()) throw LoadError(file.path + ": the model has no node '" + *told.begin() + "'");
}

}  // namespace syrinx
