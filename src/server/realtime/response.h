// A running response of the Realtime API: writes its items as the answer arrives, and sends all of
// its events in the documented order: response.created; for each item output_item.added,
// item.added, content_part.added, deltas, the .done events from the inside out; response.done, also
// after a cancellation or failure. Its items are in the session's conversation or in its own. Each
// call gets the session's conversation and the outbox for events. A plain value; one thread at a
// time.
#pragma once

#include <string>
#include <vector>

#include "server/realtime/conversation.h"
#include "server/realtime/realtime_outbox.h"
#include "server/realtime/response_wish.h"

namespace syrinx {

class RealtimeResponse {
 public:
  RealtimeResponse(std::string id, ResponseWish wish, const RealtimeFacts& facts);

  const std::string& id() const { return id_; }
  /// Returns whether the response's items are in the session's conversation.
  bool joined() const { return wish_.joined; }
  /// Returns whether the response answers the session's conversation, not its own `input`.
  bool answers_session() const { return !wish_.input; }
  bool begun() const { return begun_; }
  RealtimeFormat format() const { return wish_.config.format; }
  /// Returns whether audio of the response was sent.
  bool sounded() const { return sounded_; }

  /// Sends response.created.
  void send_created(const Conversation& session, RealtimeOutbox& out) const;
  /// Returns the request for the answer and marks the response as begun.
  BeginAnswer begin(const Conversation& session);
  /// Sends more of the answer. Returns true at the end, after response.done was sent. If the
  /// conversation has no room for another item, the response fails and ends.
  bool write(const AnswerNews& news, Conversation& session, RealtimeOutbox& out);
  /// Stops the answer if it was begun, ends the response, and sends response.done.
  void cancel(const char* reason, Conversation& session, RealtimeOutbox& out);

 private:
  Conversation& home(Conversation& session) { return joined() ? session : own_; }
  const Conversation& home(const Conversation& session) const { return joined() ? session : own_; }
  void add_item(RealtimeItem item, Conversation& session, RealtimeOutbox& out);
  void end_item(const RealtimeItem& item, const Conversation& session, RealtimeOutbox& out) const;
  void begin_message(Conversation& session, RealtimeOutbox& out);
  void continue_message(const AnswerNews& news, ItemPart& part, RealtimeOutbox& out);
  void end_message(const char* status, Conversation& session, RealtimeOutbox& out);
  void send_calls(Conversation& session, RealtimeOutbox& out);
  void send_done(const char* status, const JsonOut& details, const Outcome& outcome,
                 const Conversation& session, RealtimeOutbox& out) const;
  JsonOut object(const char* status, const JsonOut& details, const JsonOut& usage,
                 const Conversation& session) const;
  JsonOut place() const;
  JsonOut event_part(const std::string& text) const;

  std::string id_;
  ResponseWish wish_;
  bool hears_;                      // see RealtimeFacts
  JsonOut conversation_, audio_;    // `conversation` and `audio` in events
  Conversation own_;                // the items of a response outside the session's conversation
  bool begun_ = false;              // the answer was requested
  bool sounded_ = false;            // audio was sent
  std::vector<std::string> items_;  // ids of all items of the response, in order
  std::string message_;             // the item that is being written
  std::vector<ToolCall> calls_;     // tool calls to send after message_
};

}  // namespace syrinx
