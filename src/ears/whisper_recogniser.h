// Whisper as a recogniser: every recording is a loop (ears/whisper_loop.h) whose windows are
// requests of one engine (ears/engine_recogniser.h). A recording that is not live is
// written down when it has ended, because its mel is floored below the loudest moment of all of it,
// as the authors have it; until then its samples lie in memory, 230 MB an hour. A live one is
// written down window by window, as if nothing louder came.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "ears/whisper_loop.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes a recogniser of a Whisper's engine; null for another model's. What `defaults` says of
/// language, task, prompt and temperatures is overruled by the options of each recording.
std::shared_ptr<Recogniser> whisper_recogniser(std::shared_ptr<Engine> engine,
                                               WhisperOptions defaults = {});

}  // namespace syrinx
