#include "server/realtime/session_items.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "server/realtime/item_events.h"

namespace syrinx {

void SessionItems::create(const JsonFields& event) {
  RealtimeItem item = read_item(event.need_object("item"), session_.config.input);
  if (item.kind == RealtimeItem::kOutput && !session_.conversation.has_call(item.call_id)) {
    throw ApiError{.message = concat("No call in this conversation has the call_id '",
                                     item.call_id.substr(0, 100), "'."),
                   .param = "item.call_id",
                   .code = "invalid_value"};
  }
  if (item.id.empty()) item.id = session_.out.new_id("item");
  if (item.id == session_.turn || session_.hearings.contains(item.id)) throw taken_id(item.id);
  const auto pending = [](const ItemPart& part) { return part.pending; };
  const auto sounds = std::count_if(item.parts.begin(), item.parts.end(), pending);
  if (sounds > 1) {
    event.need_object("item").refuse("content", "A message may have one part with audio.");
  }
  RealtimeItem& added = session_.conversation.add(std::move(item), event.text("previous_item_id"));
  session_.out.send_whole_item(added, session_.conversation);
  if (sounds > 0) {
    hear_part(added.id, *std::find_if(added.parts.begin(), added.parts.end(), pending));
  }
  session_.bound_audio();
}

/// Starts to transcribe a recording that is part of a client's item.
void SessionItems::hear_part(const std::string& item, ItemPart& part) {
  part.known = session_.config.transcription.has_value();
  part.pending = session_.wants_hearing();
  if (!part.pending) return;
  Hearings& hearings = session_.hearings;
  hearings.open(item, session_.out);
  hearings.commit(item, false, session_.out);
  hearings.give(item, heard_samples(part.samples), session_.out);
  hearings.finish(item, session_.out);
}

void SessionItems::retrieve(const JsonFields& event) {
  session_.out.send("conversation.item.retrieved",
                    retrieve_item(event, session_.conversation, session_.config.input));
}

void SessionItems::remove(const JsonFields& event) {
  const JsonOut deleted = delete_item(event, session_.conversation);
  session_.hearings.drop(deleted["item_id"].get<std::string>(), session_.out);
  session_.out.send("conversation.item.deleted", deleted);
  answers_.begin_waiting();
  answers_.answer_if_due();
}

void SessionItems::truncate(const JsonFields& event) {
  session_.out.send("conversation.item.truncated", truncate_item(event, session_.conversation));
  session_.idle.silenced(session_.audio.now_ms());
}

}  // namespace syrinx
