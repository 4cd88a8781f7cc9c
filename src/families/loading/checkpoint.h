// Opens a checkpoint: its config.json and its weight files. With random weights (LoadSpec::dummy)
// all files except config.json may be missing. Any thread; faults are LoadErrors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "families/family.h"
#include "io/weights.h"
#include "kernels/sample.h"

namespace syrinx {

/// Returns the text of "model_type". Empty if the config lacks it.
std::string model_type(const Config& root);

/// Opens the weights at `path`, or makes random weights if spec.dummy. `has`: whether random
/// weights have an optional tensor with a given name; null: they have no optional tensors.
inline std::unique_ptr<WeightSource> weights_at(
    const LoadSpec& spec, const std::string& path,
    std::function<bool(const std::string& name)> has = {}) {
  return spec.dummy ? dummy_weights(std::move(has)) : open_weights(path);
}

/// Does the same for networks that may be stored with weight norm. Random weights are stored plain.
inline std::unique_ptr<WeightSource> plain_weights_at(const LoadSpec& spec,
                                                      const std::string& path) {
  return weights_at(spec, path, [](const std::string& name) {
    return name.find(".weight_") == name.npos && name.find("parametrizations") == name.npos;
  });
}

/// Returns the type in which a codec stores its weights. Convolutions cannot have 8 bits, and the
/// codec's other matrices are small.
inline WeightType codec_weights(WeightType type) {
  return type == WeightType::kF32 ? WeightType::kF32 : WeightType::kBF16;
}

/// Returns make(): the networks of `node`, which must use all tensors of `weights` but `extras`.
template <typename Make>
auto load_part(const LoadSpec& spec, std::string_view node, const Weights& weights,
               const Make& make, const NamePatterns& extras = {}) {
  decltype(make()) made;
  weights.build([&] { made = spec.part(node, make); }, extras);
  return made;
}

/// Moves networks to the devices of their nodes; they were loaded on the CPU. The arguments are the
/// name of a node, its networks, the name of the next node, and so on.
template <typename... NameOrNetwork>
void move_networks(const LoadSpec& spec, NameOrNetwork&... arguments) {
  Device device = spec.device;
  const auto take = [&](auto& argument) {
    if constexpr (std::is_convertible_v<decltype(argument), std::string_view>) {
      device = spec.device_of(argument);
    } else if (device != Device::kCpu) {
      argument.move_to(device);
    }
  };
  (take(arguments), ...);
}

/// Writes the default sampling of generation_config.json to `out`. Values without a key in the file
/// stay. `prefix`: beginning of the keys, such as "depth_decoder_".
void load_sampling(const Config& config, SampleParams& out, const std::string& prefix = "");

}  // namespace syrinx
