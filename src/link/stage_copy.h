// A process that holds a stage, and the choice among several such processes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "link/stage_link.h"

namespace syrinx {

struct StageCopy {
  std::shared_ptr<StageLink> link;
  uint16_t node = 0;  ///< index into the list of nodes that the link asks for (Introduction::nodes)
};

/// Returns the copy with the fewest streams; a copy whose process is about to end only if there is
/// no other. If all are down and one went down just now, waits a moment for its return. Null: all
/// are down.
const StageCopy* choose_copy(std::span<const StageCopy> copies);

/// Returns the error for a request that no process can compute.
Error process_gone(const std::string& node);

}  // namespace syrinx
