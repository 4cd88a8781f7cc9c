// A response of the Realtime API while it runs: its items, written step by step as the answer
// comes, and every event about it in the documented order: response.created; of each item
// output_item.added, item.added, content_part.added, deltas, the .done events from the inside out;
// response.done, also where it was cancelled or failed. Its items are in the session's conversation
// where it has joined that, else in its own; every call is given that and where events go. A plain
// value; one thread at a time.
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
  /// Sends more of the answer. Returns true at the end, after response.done was sent. The response
  /// fails and ends, too, if the conversation has no room for another item.
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
  bool hears_;                      // as RealtimeFacts
  JsonOut conversation_, audio_;    // as events have them
  Conversation own_;                // its items, where they are in no conversation
  bool begun_ = false;              // the answer was asked for
  bool sounded_ = false;            // audio was sent
  std::vector<std::string> items_;  // of all its items, in order
  std::string message_;             // the item that is being written
  std::vector<ToolCall> calls_;     // tool calls to send after message_
};

}  // namespace syrinx
