// A toy model of two AR nodes, a thinker that feeds a talker, for tests of edges between AR nodes.
// The thinker answers a text byte by byte (its code is the letter that it writes). It sends the
// talker its ids and, for each row of its prompt, the tapped row of its stage. These rows are the
// talker's prompt. Each step of the talker uses one id and the codes of the step before, and speaks
// two frames for each id. A request for text only does not use the talker.
#pragma once

#include <memory>

#include "model/pipeline.h"

namespace syrinx {

std::shared_ptr<const Pipeline> make_duet_pipeline();

}  // namespace syrinx
