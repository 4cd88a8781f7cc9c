// A toy of two AR nodes, a thinker that feeds a talker: for tests of edges between AR nodes. The
// thinker answers a text byte by byte (its code is the letter that it writes), and sends the talker
// its ids and, for each row of its prompt, the tapped row of its stage. The talker's prompt is
// those rows; each of its steps takes one id beside the codes of the step before, and speaks two
// frames for each id. A request for text only does not use the talker.
#pragma once

#include <memory>

#include "model/pipeline.h"

namespace syrinx {

std::shared_ptr<const Pipeline> make_duet_pipeline();

}  // namespace syrinx
