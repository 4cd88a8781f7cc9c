// When a server drafts answers while the user still speaks the question.
#pragma once

namespace syrinx {

enum class PredictWhen {
  kNever,
  kAsked,      ///< only in sessions that request it
  kUnlessNot,  ///< in all sessions, unless a session disables it
};

}  // namespace syrinx
