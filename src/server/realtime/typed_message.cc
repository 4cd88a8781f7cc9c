#include "server/realtime/typed_message.h"

#include <utility>

#include "base/ascii.h"
#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kMostTyped = size_t{64} << 10;  // most bytes of a typed message

}  // namespace

void TypedMessage::append(const JsonFields& event) {
  type(session_.typed + event.need_text("text"), event);
}

void TypedMessage::replace(const JsonFields& event) { type(event.need_text("text"), event); }

/// Stores the message as typed so far. Sends no reply.
void TypedMessage::type(std::string text, const JsonFields& event) {
  if (text.size() > kMostTyped) {
    event.refuse("text", concat("A typed message may have at most ", kMostTyped, " bytes."),
                 "input_text_buffer_too_long");
  }
  session_.typed = std::move(text);
  if (trimmed(session_.typed).empty() && session_.silent()) return question_.forget();
  question_.foresee();
}

void TypedMessage::commit() {
  const std::string text(trimmed(session_.typed));
  if (text.empty()) {
    throw ApiError{.message = "Error committing input text buffer: it is empty.",
                   .code = "input_text_buffer_commit_empty"};
  }
  RealtimeItem item{.id = session_.out.new_id("item"), .role = "user"};
  item.parts.push_back({.kind = ItemPart::kInputText, .text = text});
  const Conversation& conversation = session_.conversation;
  const RealtimeItem& added = session_.conversation.add(std::move(item));
  session_.typed.clear();
  session_.out.send(
      "input_text_buffer.committed",
      {{"previous_item_id", null_or(conversation.previous(added.id))}, {"item_id", added.id}});
  session_.out.send_whole_item(added, conversation);
}

void TypedMessage::clear() {
  session_.typed.clear();
  if (session_.silent()) question_.forget();
  session_.out.send("input_text_buffer.cleared", JsonOut::object());
}

}  // namespace syrinx
