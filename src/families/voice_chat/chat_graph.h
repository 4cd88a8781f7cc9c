// The graph of a model that hears, writes and speaks.
#pragma once

#include <span>

#include "model/graph.h"

namespace syrinx {

/// Makes the graph hearing -> language model -> the stages `behind`, the last of which makes
/// samples; the language model's text goes to the client. The language model's inputs: text and
/// encoded recordings (HearingAnswer::kHearing); its outputs: text and codes. Without a hearing
/// stage the model takes only text. `name`: name of the language model; `window`: that of the edge
/// to the last stage.
Graph chat_graph(const Link& hearing, const char* name, const ArStage& lm,
                 std::span<const Link> behind, int64_t window = Edge().window);

}  // namespace syrinx
