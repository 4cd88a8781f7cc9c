// Full-context labels of a libflite utterance in the format of the training of the voice
// festvox-us-slt-hts (FULLCONTEXT_FORMAT HTS_TTS_ENG, version 1.0; festival's hts.scm writes it for
// its own utterances).
#pragma once

#include <string>
#include <vector>

#include "families/finch/flite_c.h"

/// Returns one label for each segment. `rising`: the last phrase ends like a yes-no question.
std::vector<std::string> hts_labels(const cst_utterance* utterance, bool rising);
