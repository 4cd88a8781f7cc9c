// Runs a recogniser that transcribes only whole utterances, while the speaker still speaks or
// pauses: passes for partial hypotheses, and an early last pass before the turn is known to end.
#pragma once

#include <memory>

#include "ears/recogniser.h"

namespace syrinx {

/// Longest utterance, in seconds, whose last pass may begin in a pause. Recognisers process this
/// much at once, so such a pass does not depend on segments that an earlier pass made final.
inline constexpr double kLongestEarlyPass_s = 20;

/// Longest delay of a recogniser (Listener::wait_s()), in seconds, at which a pass for a hypothesis
/// or an early pass may begin. With a longer delay, a recogniser runs only the last passes.
inline constexpr double kMostBehind_s = 1;

/// Opens a listener that holds back the samples of a pause (Listener::pause()) until the speaker
/// continues. So the transcript covers all samples except those of the last pause, regardless of
/// when the last pass begins.
///
/// In each pause of an utterance of at most kLongestEarlyPass_s, the listener begins an early last
/// pass. It runs in the background until end() makes it live. With `partials`, other background
/// passes run over the samples that are not final yet, each followed by a partial hypothesis. Such
/// a pass begins when another 0.5 s has arrived and the previous pass has ended. Returns the
/// recogniser's own listener if RecogniserInfo::streams is set or the options are not live.
Result<std::unique_ptr<Listener>> listen_in_passes(std::shared_ptr<Recogniser> recogniser,
                                                   const ListenOptions& options,
                                                   std::shared_ptr<TranscriptSink> sink,
                                                   bool partials);

}  // namespace syrinx
