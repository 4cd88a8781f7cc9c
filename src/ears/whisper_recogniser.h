// Whisper as a recogniser: each recording is handled by a loop (ears/whisper_loop.h) whose windows
// are requests to one engine (ears/engine_recogniser.h). A recording that is not live is
// transcribed after its end, because the floor of its mel spectrogram depends on the loudest moment
// of the whole recording, as with Whisper's authors. Its samples stay in memory until the end, 230
// MB an hour. A live recording is transcribed window by window, as if no louder moment followed.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "ears/whisper_loop.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes a recogniser of an engine whose model is Whisper; null for other models. The options of
/// each recording override the language, task, prompt and temperatures of `defaults`.
std::shared_ptr<Recogniser> whisper_recogniser(std::shared_ptr<Engine> engine,
                                               WhisperOptions defaults = {});

}  // namespace syrinx
