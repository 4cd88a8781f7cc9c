// Full-context labels of a libflite utterance, as the voice festvox-us-slt-hts was trained with them
// (FULLCONTEXT_FORMAT HTS_TTS_ENG, version 1.0; what festival's hts.scm writes for its own utterances).
#pragma once

#include <string>
#include <vector>

#include "families/finch/flite_c.h"

/// Returns one label for each segment. `rising`: the last phrase ends as a yes-no question does.
std::vector<std::string> hts_labels(const cst_utterance* utterance, bool rising);
