// What a session of the Realtime API sends and asks for, in order, until it is taken: events get
// their type, their id and, for clients of the beta, its names here. It gives every other id, too:
// all of a session count as one. One thread at a time.
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

  /// "KIND_SESSION_NUMBER".
  std::string new_id(const char* kind);
  /// An event; nothing where the beta has no such event.
  void send(const std::string& type, const JsonOut& fields);
  /// `event_id` is that of the client's event; empty: of none.
  void send_error(const ApiError& error, const std::string& event_id);
  /// An event about an item of `conversation`: with the item before it.
  void send_item(const char* type, const RealtimeItem& item, const Conversation& conversation);
  /// One that is all there: conversation.item.added and .done.
  void send_whole_item(const RealtimeItem& item, const Conversation& conversation);
  void ask(RealtimeAction action) { actions_.push_back(std::move(action)); }

  /// Appends all of it, and begins anew.
  void hand_over(RealtimeActions& out);

 private:
  const std::string session_;
  const bool beta_;
  uint64_t ids_ = 0;
  RealtimeActions actions_;
};

/// {"message", "type", "param", "code"}.
JsonOut error_fields(const ApiError& error);
JsonOut null_or(const std::string* text);

}  // namespace syrinx
