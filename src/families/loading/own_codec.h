// Loads a codec that is published in a repository of its own. Header only; any thread; faults are
// LoadErrors.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "io/hub.h"

namespace syrinx {

/// Loads the codec of the node "codec" from the hub's repository `repository`, or from its folder
/// in `place`, the folder of the model. `sizes`: those of random weights. `read` returns the sizes
/// in a config.json; `load` makes the codec from sizes, weights and their type.
template <typename Sizes, typename Read, typename Load>
auto load_own_codec(const LoadSpec& spec, const std::string& place, const char* repository,
                    Sizes sizes, const Read& read, const Load& load) {
  using Codec = decltype(load(sizes, std::declval<const Weights&>(), spec.weights));
  std::string dir;
  if (!spec.dummy) {
    dir = resolve_part(place, repository);
    sizes = read(Config::load(join_path(dir, "config.json")));
  }
  const Weights weights(weights_at(spec, dir));
  return load_part(spec, "codec", weights, [&] {
    return std::make_unique<Codec>(load(sizes, weights, codec_weights(spec.weights)));
  });
}

}  // namespace syrinx
