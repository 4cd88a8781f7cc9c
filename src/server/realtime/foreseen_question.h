// The question of a session as far as it is known while it is said or typed, for answers that are
// drafted ahead. One thread at a time.
#pragma once

#include <string>

#include "server/realtime/session_state.h"

namespace syrinx {

class ForeseenQuestion {
 public:
  explicit ForeseenQuestion(SessionState& session) : session_(session) {}

  /// Asks for a draft where more is known than before, and none is answered.
  void foresee();
  /// There will be no answer to it.
  void forget();
  /// An answer begins that reads all of it.
  void answered() { known_.clear(); }
  /// Returns what would be asked if what is known now were all; of no response.
  BeginAnswer so_far() const;

 private:
  SessionState& session_;
  std::string known_;  // what was foreseen for; empty: nothing
};

}  // namespace syrinx
