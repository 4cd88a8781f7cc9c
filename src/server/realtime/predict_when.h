// Whether a server drafts answers while their questions are still being said.
#pragma once

namespace syrinx {

enum class PredictWhen {
  kNever,
  kAsked,      ///< only in sessions that ask for it
  kUnlessNot,  ///< in all sessions that do not disable it
};

}  // namespace syrinx
