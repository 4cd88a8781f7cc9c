// finch, the built-in voice: the smallest family, and so the example of how one is added. English
// text is read by libflite's front end; a speech LM with a pointer into the symbols makes frames
// of three codes at 25 Hz, a causal decoder makes samples of them at 16 or 24 kHz. See
// docs/families/finch.md for the design and training/ for how it was made.
#pragma once

#include "families/family.h"

namespace syrinx::finch {

/// Whether a directory's config.json is of this family.
bool claims(const Config& config);

/// Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::finch
