#include "server/realtime/realtime_outbox.h"

#include <iterator>
#include <utility>

#include "base/check.h"
#include "server/realtime/beta_names.h"

namespace syrinx {

JsonOut error_fields(const ApiError& error) { return JsonOut::parse(error_object(error)); }

JsonOut null_or(const std::string* text) { return text == nullptr ? JsonOut() : JsonOut(*text); }

std::string RealtimeOutbox::new_id(const char* kind) {
  return concat(kind, "_", session_, "_", ++ids_);
}

void RealtimeOutbox::send(const std::string& type, const JsonOut& fields) {
  JsonOut event = {{"type", type}, {"event_id", new_id("event")}};
  event.update(fields);
  if (beta_ && !to_beta(event)) return;
  ask(SendEvent{dump_json(event)});
}

void RealtimeOutbox::send_error(const ApiError& error, const std::string& event_id) {
  JsonOut fields = error_fields(error);
  fields["event_id"] = event_id.empty() ? JsonOut() : JsonOut(event_id.substr(0, 512));
  send("error", {{"error", std::move(fields)}});
}

void RealtimeOutbox::send_item(const char* type, const RealtimeItem& item,
                               const Conversation& conversation) {
  send(type, {{"previous_item_id", null_or(conversation.previous(item.id))},
              {"item", item_object(item)}});
}

void RealtimeOutbox::send_whole_item(const RealtimeItem& item, const Conversation& conversation) {
  send_item("conversation.item.added", item, conversation);
  send_item("conversation.item.done", item, conversation);
}

void RealtimeOutbox::hand_over(RealtimeActions& out) {
  out.insert(out.end(), std::make_move_iterator(actions_.begin()),
             std::make_move_iterator(actions_.end()));
  actions_.clear();
}

}  // namespace syrinx
