// Where a family's weights come from. Free function; any thread.
#pragma once

#include <memory>
#include <string>

#include "families/family.h"
#include "io/weights.h"

namespace syrinx {

/// What open_weights() makes of `path`, or dummy weights where those were asked for. Throws
/// LoadError.
inline std::unique_ptr<WeightSource> weights_at(const LoadSpec& spec, const std::string& path) {
  return spec.dummy ? dummy_weights() : open_weights(path);
}

/// The same for networks whose weights may be stored in weight norm: random ones need none.
inline std::unique_ptr<WeightSource> plain_weights_at(const LoadSpec& spec,
                                                      const std::string& path) {
  if (!spec.dummy) return open_weights(path);
  return dummy_weights([](const std::string& name) {
    return name.find(".weight_") == name.npos && name.find("parametrizations") == name.npos;
  });
}

}  // namespace syrinx
