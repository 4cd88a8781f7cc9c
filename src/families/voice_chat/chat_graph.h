// The graph of a model that processes recordings, writes and speaks.
#pragma once

#include <span>

#include "model/graph.h"

namespace syrinx {

/// Makes the graph hearing -> language model -> the stages `behind`, of which the last makes
/// samples. The language model's text goes to the client. Its inputs are text and encoded
/// recordings (HearingAnswer::kHearing); its outputs are text and codes. Without a hearing stage,
/// the model accepts only text. `name`: name of the language model. `window`: window of the edge to
/// the last stage.
Graph chat_graph(const Link& hearing, const char* name, const ArStage& lm,
                 std::span<const Link> behind, int64_t window = Edge().window);

}  // namespace syrinx
