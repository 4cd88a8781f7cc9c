// Passes of a recogniser that hears whole utterances only, while its speaker still speaks or
// pauses: partial hypotheses, and a last pass that begins before the turn is known to be over.
#pragma once

#include <memory>

#include "ears/recogniser.h"

namespace syrinx {

/// Longest utterance whose last pass may begin in a pause, in seconds: recognisers hear as much at
/// once, so the pass depends on nothing that an earlier one has settled.
inline constexpr double kLongestEarlyPass_s = 20;

/// Most seconds that a recogniser may be behind (Listener::wait_s()) when a pass begins that
/// is not due yet: hypotheses and early passes are given up first.
inline constexpr double kMostBehind_s = 1;

/// Opens a listener that gives its recogniser nothing of a pause that it was notified of
/// (Listener::pause()), unless the speaker goes on. So the transcript is that of all samples but
/// those behind the last pause, however soon its pass begins.
///
/// In each pause of an utterance of at most kLongestEarlyPass_s it begins that pass, in the
/// background until end() raises it. With `partials` the sink also receives a partial hypothesis
/// of what is not settled after each background pass; one begins when half a second more was given
/// and the pass before has ended. Where RecogniserInfo::streams is set, or options are not live,
/// returns the recogniser's own listener.
Result<std::unique_ptr<Listener>> listen_in_passes(std::shared_ptr<Recogniser> recogniser,
                                                   const ListenOptions& options,
                                                   std::shared_ptr<TranscriptSink> sink,
                                                   bool partials);

}  // namespace syrinx
