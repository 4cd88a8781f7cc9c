// Whisper as a recogniser. A loop (ears/whisper_loop.h) handles each recording; its windows are
// requests to one engine (ears/engine_recogniser.h). A recording that is not live is transcribed
// after its end. As in the authors' code, the floor of its mel spectrogram depends on the loudest
// moment of the whole recording. Its samples stay in memory until the end: 230 MB per hour. A live
// recording is transcribed window by window, as if no louder moment followed.
#pragma once

#include <memory>

#include "ears/recogniser.h"
#include "ears/whisper_loop.h"
#include "engine/engine.h"

namespace syrinx {

/// Makes a recogniser of an engine whose model is Whisper. Returns null for other models. The
/// options of a recording override the language, task, prompt and temperatures of `defaults`.
std::shared_ptr<Recogniser> whisper_recogniser(std::shared_ptr<Engine> engine,
                                               WhisperOptions defaults = {});

}  // namespace syrinx
