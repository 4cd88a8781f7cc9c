// What Higgs Audio v3 makes of a request: the voice that it hears, then the segments before with
// their audio, of which only the first stay when they are more than kMostPast rows
// (families/past.h), then the segment's text. C codebooks.
#pragma once

#include "families/higgs/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::higgs {

inline constexpr int64_t kMostPast = 1536;  ///< rows of earlier segments: a minute
inline constexpr int32_t kHeard = -100;     ///< a prompt's row of codes, as the authors write it

/// Tables: of the ids, then of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config);

/// Refuses a voice that is not of this model. `frame_rate` in frames a second.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                double frame_rate, const SpeechRequest& request);

}  // namespace syrinx::higgs
