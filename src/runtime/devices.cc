#include "runtime/devices.h"

#include <algorithm>

#include "base/check.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

constexpr std::string_view kAuto = "auto";

[[noreturn]] void refuse_device(std::string_view part, std::string_view why) {
  throw LoadError(concat("--device ", part, ": ", why));
}

/// Returns the parts of a list with commas.
std::vector<std::string> parts_of_list(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// Returns whether a name is a model's, or a node's of the model.
bool names_model(std::string_view name, std::string_view model) {
  return name.starts_with(model) && (name.size() == model.size() || name[model.size()] == '/');
}

void require_gpu(const std::string& part, Device device, const Family& family) {
  if (device == Device::kCpu) return;
  if (const std::string missing = device_missing(device); !missing.empty())
    refuse_device(part, missing);
  if (!family.on_gpu) refuse_device(part, concat(family.name, " runs on the CPU only"));
}

}  // namespace

DeviceOption read_device_option(const std::string& text) {
  DeviceOption out;
  bool all = false;
  for (const std::string& part : parts_of_list(text)) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(equals == part.npos ? 0 : equals + 1);
    const std::optional<Device> device = device_of_name(name);
    if (!device && (name != kAuto || equals != part.npos))
      refuse_device(part, "expected auto, cpu, cuda or cuda:N, or NODE=cuda:N");
    if (equals == part.npos) {
      if (std::exchange(all, true)) refuse_device(part, "only one device may be for all stages");
      out.all = name;
      continue;
    }
    const std::string node = part.substr(0, equals);
    const auto twice = [&](const auto& other) { return other.first == node; };
    if (node.empty() || std::ranges::any_of(out.named, twice))
      refuse_device(part, "a stage needs a name, and may have one device");
    out.named.emplace_back(node, *device);
  }
  return out;
}

std::string devices_of_model(const std::string& text, std::string_view model,
                             std::span<const std::string> models) {
  const DeviceOption option = read_device_option(text);
  std::string all = option.all, named;
  for (const auto& [name, device] : option.named) {
    const bool any = std::ranges::any_of(
        models, [&name = name](const std::string& each) { return names_model(name, each); });
    if (!any && models.size() > 1) {
      refuse_device(concat(name, "=", device_name(device)),
                    "with several models, expected MODEL=DEVICE or MODEL/NODE=DEVICE");
    }
    if (name == model) {
      all = device_name(device);
    } else if (!any || names_model(name, model)) {
      const std::string node = any ? name.substr(model.size() + 1) : name;
      named += concat(",", node, "=", device_name(device));
    }
  }
  return all + named;
}

Devices devices_for(const std::string& text, const Family& family) {
  const DeviceOption option = read_device_option(text);
  Devices out;
  if (option.all == kAuto) {
    const bool gpu = family.on_gpu && device_missing(Device::kCuda).empty();
    out.model = gpu ? Device::kCuda : Device::kCpu;
  } else {
    out.model = *device_of_name(option.all);
    require_gpu(option.all, out.model, family);
  }
  for (const auto& [node, device] : option.named) {
    require_gpu(concat(node, "=", device_name(device)), device, family);
    out.nodes[node] = device;
  }
  return out;
}

void check_nodes(const NodeDevices& nodes, const Graph& graph) {
  std::string known;
  for (const Node& node : graph.nodes()) known += concat(known.empty() ? "" : ", ", node.name);
  for (const auto& [name, device] : nodes) {
    if (std::ranges::find(graph.nodes(), name, &Node::name) != graph.nodes().end()) continue;
    refuse_device(concat(name, "=", device_name(device)),
                  concat("the model has no such stage, only ", known));
  }
}

void check_devices(const NodeDevices& nodes, const Graph& graph) {
  check_nodes(nodes, graph);
  for (const Node& node : graph.nodes()) {
    const auto wanted = nodes.find(node.name);
    if (wanted == nodes.end()) continue;
    if ((node.ar ? node.ar->device() : node.chunk->device()) != wanted->second) {
      refuse_device(concat(node.name, "=", device_name(wanted->second)),
                    "this stage runs on the CPU only");
    }
  }
}

}  // namespace syrinx
