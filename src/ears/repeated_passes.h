// Partial hypotheses of a recogniser that hears whole utterances only: while one speaks, passes
// over what is there, one after the other, in the background.
#pragma once

#include <memory>

#include "ears/recogniser.h"

namespace syrinx {

/// Opens a listener whose sink receives a partial hypothesis of what is not settled, as often as a
/// pass ends: one begins when half a second more was given and the pass before has ended. It ends
/// with the samples: the result is the recogniser's own. Where RecogniserInfo::streams is set, or
/// options are not live, it is the recogniser's listener as it is.
Result<std::unique_ptr<Listener>> listen_in_passes(std::shared_ptr<Recogniser> recogniser,
                                                   const ListenOptions& options,
                                                   std::shared_ptr<TranscriptSink> sink);

}  // namespace syrinx
