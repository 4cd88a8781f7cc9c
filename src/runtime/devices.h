// Which devices run the stages of a model: the text of `--device`. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/family.h"
#include "model/graph.h"

namespace syrinx {

/// The meaning of `--device`: DEVICE, NAME=DEVICE, or a list of these with commas. DEVICE is auto
/// (only without NAME), cpu, cuda or cuda:N.
struct DeviceOption {
  std::string all = "auto";                           ///< device of all stages that are not named
  std::vector<std::pair<std::string, Device>> named;  ///< by the names of nodes
};
/// Throws LoadError, which names the part that is invalid.
DeviceOption read_device_option(const std::string& text);

/// Returns the text for one of a server's models, in which MODEL=DEVICE is DEVICE and MODEL/NODE is
/// NODE. Throws LoadError if a name begins with no model; with one model, it may be a node.
std::string devices_of_model(const std::string& text, std::string_view model,
                             std::span<const std::string> models);

/// The devices for the load of a model.
struct Devices {
  Device model;       ///< LoadSpec::device
  NodeDevices nodes;  ///< LoadSpec::devices
};
/// Throws LoadError if a device is missing, or if the family cannot use a GPU.
Devices devices_for(const std::string& text, const Family& family);
/// Throws LoadError unless each node of `nodes` exists.
void check_nodes(const NodeDevices& nodes, const Graph& graph);
/// Throws LoadError unless each node of `nodes` exists and runs on its device.
void check_devices(const NodeDevices& nodes, const Graph& graph);

}  // namespace syrinx
