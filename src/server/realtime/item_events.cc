#include "server/realtime/item_events.h"

#include <cmath>
#include <cstdint>
#include <iterator>

#include "base/check.h"

namespace syrinx {

ApiError no_item(const char* doing, const char* verb, const std::string& id) {
  return {.message = concat("Error ", doing, " item: the item with id '", id.substr(0, 200),
                            "' does not exist."),
          .param = "item_id",
          .code = concat("item_", verb, "_invalid_item_id")};
}

JsonOut retrieve_item(const JsonFields& event, const Conversation& conversation,
                      RealtimeFormat input) {
  const std::string id = event.need_text("item_id");
  const RealtimeItem* item = conversation.find(id);
  if (item == nullptr) throw no_item("retrieving", "retrieve", id);
  return {{"item", item_object(*item, true, input)}};
}

JsonOut truncate_item(const JsonFields& event, Conversation& conversation) {
  const std::string id = event.need_text("item_id");
  const int64_t index = event.need_integer("content_index", 0, 1 << 20);
  const int64_t end_ms = event.need_integer("audio_end_ms", 0, int64_t{1} << 40);
  RealtimeItem* item = conversation.find(id);
  if (item == nullptr) throw no_item("truncating", "truncate", id);
  if (item->kind != RealtimeItem::kMessage || item->role != "assistant") {
    event.refuse("item_id", "Only assistant message items can be truncated.");
  }
  if (index >= std::ssize(item->parts) ||
      item->parts[static_cast<size_t>(index)].kind != ItemPart::kOutputAudio) {
    event.refuse("content_index", "No audio has this content_index.");
  }
  ItemPart& part = item->parts[static_cast<size_t>(index)];
  if (!truncate_part(part, static_cast<double>(end_ms) / 1000)) {
    event.refuse("audio_end_ms", concat("Audio content of ", std::llround(1000 * part.audio_s),
                                        "ms is already shorter than ", end_ms, "ms."));
  }
  return {{"item_id", id}, {"content_index", index}, {"audio_end_ms", end_ms}};
}

JsonOut delete_item(const JsonFields& event, Conversation& conversation) {
  const std::string id = event.need_text("item_id");
  const RealtimeItem* item = conversation.find(id);
  if (item == nullptr) throw no_item("deleting", "delete", id);
  if (item->status == "in_progress") {
    throw ApiError{.message = "Error deleting item: it is still being written; cancel first.",
                   .param = "item_id",
                   .code = "item_delete_in_progress"};
  }
  conversation.remove(id);
  return {{"item_id", id}};
}

}  // namespace syrinx
