// Runs a recogniser of whole utterances while the speaker still speaks or pauses. Passes give
// partial hypotheses; an early pass begins before the turn is known to end.
#pragma once

#include <memory>

#include "ears/recogniser.h"

namespace syrinx {

/// Longest utterance, in seconds, for which an early pass may begin. Recognisers process at least
/// 20 s in one window, so no segment of such an utterance is final before its end.
inline constexpr double kLongestEarlyPass_s = 20;

/// Longest delay of a recogniser (Listener::wait_s()), in seconds, at which a pass for a hypothesis
/// or an early pass may begin. With a longer delay, only the final pass of each utterance runs.
inline constexpr double kMostBehind_s = 1;

/// Opens a listener that holds back the samples of a pause (Listener::pause()) until the speaker
/// continues. So the transcript covers all samples except those of the last pause, regardless of
/// when the final pass begins.
///
/// In each pause of an utterance of at most kLongestEarlyPass_s, the listener begins an early pass,
/// as if the turn had ended. It runs in the background until end() makes it live. With `partials`,
/// other background passes run over samples that are not final, each for a partial hypothesis. Such
/// a pass begins when another 0.5 s has arrived and the previous one has ended. Returns the
/// recogniser's own listener if RecogniserInfo::streams is set or the options are not live.
Result<std::unique_ptr<Listener>> listen_in_passes(std::shared_ptr<Recogniser> recogniser,
                                                   const ListenOptions& options,
                                                   std::shared_ptr<TranscriptSink> sink,
                                                   bool partials);

}  // namespace syrinx
