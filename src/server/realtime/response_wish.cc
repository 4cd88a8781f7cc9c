#include "server/realtime/response_wish.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "server/realtime/item_events.h"
#include "server/realtime/realtime_event.h"

namespace syrinx {
namespace {

constexpr size_t kMostInput = 256;

/// Returns the object without `input` and null values. Also drops nulls in `audio` and `output`.
JsonIn without_nulls(const JsonIn& object) {
  JsonIn out = JsonIn::object();
  for (const auto& [name, value] : object.items()) {
    if (value.is_null() || name == "input") continue;
    const bool inner = value.is_object() && (name == "audio" || name == "output");
    out[name] = inner ? without_nulls(value) : value;
  }
  return out;
}

/// Reads an item of `response.input`: a new item, or a reference to an item of `conversation`.
RealtimeItem read_input_item(const JsonFields& fields, const RealtimeConfig& config, bool hears,
                             const Conversation& conversation) {
  RealtimeItem out;
  if (fields.text("type") == "item_reference") {
    const std::string id = fields.need_text("id");
    const RealtimeItem* known = conversation.find(id);
    if (known == nullptr) throw no_item("referencing", "reference", id);
    out = *known;
    out.left_out = false;  // the client refers to the item, so the model gets it
    for (ItemPart& part : out.parts) part.read = false;
  } else {
    out = read_item(fields, config.input);
  }
  if (out.pending() && !hears) {
    fields.refuse("content", "Audio in 'input' is not transcribed; create an item from it first.",
                  "unsupported_value");
  }
  for (ItemPart& part : out.parts) {
    part.pending = false;
    if (!hears) part.samples = std::vector<int16_t>();  // the model reads the transcript instead
  }
  return out;
}

}  // namespace

ResponseWish read_response_wish(const JsonFields& event, const RealtimeConfig& config,
                                const RealtimeFacts& facts, const Conversation& conversation) {
  ResponseWish out{.config = config.answer};
  const auto fields = event.object("response");
  if (!fields) return out;
  const JsonIn given = without_nulls(fields->json());  // null means the session's value
  if (const size_t bytes = dump_json(given).size(); bytes > kMaxEventBytes) {
    throw event_too_long("response.create", bytes, ", beside its 'input'");
  }
  merge_response(JsonFields(given, "response."), facts, out.config);
  facts.check_voice(out.config, config.answer, "response.audio.output.voice");
  out.joined = fields->choice("conversation", {"auto", "none"}).value_or("auto") == "auto";
  if (const auto metadata = fields->object("metadata")) out.metadata = metadata->json();
  const auto* input = fields->list("input");
  if (input == nullptr) return out;
  if (input->size() > kMostInput) fields->refuse("input", "'input' may have at most 256 items.");
  out.input.emplace();
  for (size_t i = 0; i < input->size(); ++i) {
    if (!(*input)[i].is_object()) fields->refuse("input", "An item must be an object.");
    const JsonFields each((*input)[i], concat("response.input[", i, "]."));
    RealtimeItem item = read_input_item(each, config, facts.hears, conversation);
    item.id = concat("input_", i);
    out.input->add(std::move(item));
    out.input->bound_audio();
  }
  out.input->hear_newest(facts.hears_s);
  return out;
}

BeginAnswer answer_to(const Conversation& context, const AnswerConfig& config, bool hears) {
  // Turns off the model's reasoning, which a voice would otherwise read aloud.
  std::vector<std::string> items;
  JsonIn body = {{"messages", context.messages(config.instructions, hears, {}, &items)},
                 {"chat_template_kwargs", {{"enable_thinking", false}}}};
  if (!config.tools.empty()) {
    body["tools"] = chat_tools_of(config.tools);
    body["tool_choice"] = chat_tool_choice_of(config.tool_choice);
  }
  if (config.max_tokens > 0) body["max_completion_tokens"] = config.max_tokens;
  if (config.temperature) body["temperature"] = *config.temperature;
  const size_t instructions = body["messages"].size() - items.size();
  BeginAnswer out{"", config, std::move(body), context.answers()};
  out.instructions = instructions;
  out.items = std::move(items);
  out.config.tools = out.config.tool_choice = {};
  return out;
}

}  // namespace syrinx
