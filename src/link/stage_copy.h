// A process that holds a stage, and which of several is taken.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "link/stage_link.h"

namespace syrinx {

struct StageCopy {
  std::shared_ptr<StageLink> link;
  uint16_t node = 0;  ///< of the list of nodes that the link wants
};

/// The copy with the fewest streams, one that is about to end only where there is no other. While
/// all are down and one went down just now, it may be back at once: waits for that. Null: there is
/// none.
const StageCopy* choose_copy(std::span<const StageCopy> copies);

/// The error of a request that no process can compute.
Error process_gone(const std::string& node);

}  // namespace syrinx
