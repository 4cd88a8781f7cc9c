// Collects the events and other actions of a Realtime API session, in order, until hand_over().
// Adds type and id to events, and translates events for clients of the beta. Also makes all ids of
// items and responses: one counter serves all ids of a session. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "server/realtime/conversation.h"
#include "server/realtime/realtime_actions.h"

namespace syrinx {

class RealtimeOutbox {
 public:
  /// `session` is a part of every id; `beta`: events have the beta's names.
  RealtimeOutbox(std::string session, bool beta) : session_(std::move(session)), beta_(beta) {}

  /// Returns a new id: "KIND_SESSION_NUMBER".
  std::string new_id(const char* kind);
  /// Adds an event; does nothing if the client uses the beta and the beta has no such event.
  void send(const std::string& type, const JsonOut& fields);
  /// Adds an error event. `event_id`: the client's event that caused it; empty if none did.
  void send_error(const ApiError& error, const std::string& event_id);
  /// Adds an event about an item of `conversation`, with the id of the previous item.
  void send_item(const char* type, const RealtimeItem& item, const Conversation& conversation);
  /// Adds conversation.item.added and .done for a complete item.
  void send_whole_item(const RealtimeItem& item, const Conversation& conversation);
  void ask(RealtimeAction action) { actions_.push_back(std::move(action)); }

  /// Appends all collected actions to `out` and clears the outbox.
  void hand_over(RealtimeActions& out);

 private:
  const std::string session_;
  const bool beta_;
  uint64_t ids_ = 0;
  RealtimeActions actions_;
};

/// Returns {"message", "type", "param", "code"}.
JsonOut error_fields(const ApiError& error);
JsonOut null_or(const std::string* text);

}  // namespace syrinx
