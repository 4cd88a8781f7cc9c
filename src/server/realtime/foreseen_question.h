// The part of the user's question that is known while the user still speaks or types it. Requests
// drafts of the answer to it. Only one thread may use it at a time.
#pragma once

#include <string>

#include "server/realtime/session_state.h"

namespace syrinx {

class ForeseenQuestion {
 public:
  explicit ForeseenQuestion(SessionState& session) : session_(session) {}

  /// Requests a draft if more of the question is known than at the last draft and no answer runs.
  void foresee();
  /// Drops the question, which will get no answer.
  void forget();
  /// Records that an answer to the whole question begins.
  void answered() { known_.clear(); }
  /// Returns the request for an answer to the known part of the question, without a response id.
  BeginAnswer so_far() const;

 private:
  SessionState& session_;
  std::string known_;  // question of the last draft request; empty without one
};

}  // namespace syrinx
