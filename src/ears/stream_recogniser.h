// The recogniser of a model that writes words while a recording's samples arrive
// (HearingFacts::frame). A recording is one request, which holds the model's state. Its samples go
// to the engine as they arrive. The engine runs all streams with a complete chunk in one batch.
// Hypotheses only grow (RecogniserInfo::grows). Sinks are called on the engine's thread.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes the recogniser of an engine's model. Returns null if the model needs whole recordings.
std::shared_ptr<Recogniser> stream_recogniser(std::shared_ptr<Engine> engine);

}  // namespace syrinx
