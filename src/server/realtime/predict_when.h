// Whether a server drafts answers while their questions are still being said.
#pragma once

namespace syrinx {

enum class PredictWhen {
  kNever,
  kAsked,      ///< in sessions that ask for it
  kUnlessNot,  ///< in all sessions except those that disable it
};

}  // namespace syrinx
