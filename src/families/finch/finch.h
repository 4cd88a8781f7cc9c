// finch, the built-in voice: the smallest family, and an example of how to add one. libflite's
// front end reads English text. A speech LM with a pointer into the symbols makes frames of three
// codes at 25 Hz. A causal decoder makes samples from them at 16 or 24 kHz. See
// docs/families/finch.md for the design and training/ for its training.
#pragma once

#include "families/family.h"

namespace syrinx::finch {

/// Returns whether a directory's config.json belongs to this family.
bool claims(const Config& config);

/// Loads a voice. Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::finch
