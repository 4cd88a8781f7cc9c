// A process that holds a stage, and the choice among several such processes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "link/stage_link.h"

namespace syrinx {

struct StageCopy {
  std::shared_ptr<StageLink> link;
  uint16_t node = 0;  ///< index into the nodes that the link requests (Introduction::nodes)
};

/// Returns the copy with the fewest streams. Returns a copy whose process is about to end only if
/// no other copy is up. If all are down, waits for one that was lost less than
/// LinkOptions::return_s ago. Returns null if all stay down.
const StageCopy* choose_copy(std::span<const StageCopy> copies);

/// Returns the error for a request that no process can compute.
Error process_gone(const std::string& node);

}  // namespace syrinx
