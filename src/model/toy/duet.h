// A toy of two AR nodes, as a thinker that feeds a talker: for tests of edges between AR nodes. The
// thinker answers a text byte by byte (its code is what it writes, a letter), and sends the talker
// its ids and, for each row of its prompt, what its stage taps. The talker's prompt is those rows;
// each of its steps takes one id beside the codes of the step before, and speaks two frames an id.
// A request for text only opens no talker.
#pragma once

#include <memory>

#include "model/pipeline.h"

namespace syrinx {

std::shared_ptr<const Pipeline> make_duet_pipeline();

}  // namespace syrinx
