#include "server/realtime/conversation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "audio/wav.h"
#include "base/ascii.h"
#include "base/check.h"
#include "server/request/wire.h"
#include "text/sentence_rules.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMostParts = 64;
constexpr size_t kMaxNameBytes = 128;

bool is_audio(const ItemPart& part) {
  return part.kind == ItemPart::kInputAudio || part.kind == ItemPart::kOutputAudio;
}

size_t audio_bytes_of(const ItemPart& part) {
  return part.bytes.size() + part.samples.size() * sizeof(int16_t);
}

double seconds_of(const ItemPart& said) {
  return static_cast<double>(said.samples.size()) / kHearingRate;
}

size_t text_bytes_of(const RealtimeItem& item) {
  size_t bytes =
      item.call_id.size() + item.name.size() + item.arguments.size() + item.output.size();
  for (const ItemPart& part : item.parts) bytes += part.text.size();
  return bytes;
}

std::vector<int16_t> decoded_audio(const JsonFields& fields, RealtimeFormat format) {
  const auto bytes = base64_decoded(fields.need_text("audio"));
  if (!bytes) fields.refuse("audio", concat("'", fields.path("audio"), "' is not base64."));
  if (const double s = format.seconds(bytes->size()); s > Conversation::kMaxAudio_s) {
    fields.refuse("audio", concat("'", fields.path("audio"), "' lasts ", std::lround(s), " s; ",
                                  Conversation::kMaxAudio_s, " s are allowed in one turn."));
  }
  std::vector<int16_t> out;
  keep_samples(resampled(samples_of(*bytes, format), format.rate_hz(), kHearingRate), out);
  return out;
}

ItemPart read_part(const JsonFields& fields, const std::string& role, RealtimeFormat format) {
  const std::string type = fields.need_text("type");
  ItemPart out;
  const bool assistant = role == "assistant";
  if (type == "input_text" || type == "output_text" || type == "text") {
    out.kind = assistant ? ItemPart::kOutputText : ItemPart::kInputText;
    out.text = fields.need_text("text");
  } else if (type == "input_audio" && role == "user") {
    out.kind = ItemPart::kInputAudio;
    out.samples = decoded_audio(fields, format);
    const auto transcript = fields.text("transcript");
    out.text = transcript.value_or("");
    out.pending = !transcript && !out.samples.empty();
    out.known = transcript.has_value();
  } else if ((type == "output_audio" || type == "audio") && assistant) {
    out.kind = ItemPart::kOutputAudio;  // a client that reconnects sends an earlier answer again
    out.text = fields.text("transcript").value_or("");
    out.cut = true;
  } else {
    fields.refuse("type", concat("A part of the type '", type.substr(0, 100),
                                 "' is not supported in a message of the role '", role, "'."));
  }
  return out;
}

std::string wav_of(std::span<const int16_t> samples) {
  std::string out = wav_header(kHearingRate, static_cast<int64_t>(samples.size()));
  for (const int16_t sample : samples) {
    out += static_cast<char>(sample & 0xFF);
    out += static_cast<char>(sample >> 8 & 0xFF);
  }
  return out;
}

JsonOut part_object(const ItemPart& part, bool with_audio, RealtimeFormat input) {
  JsonOut out;
  switch (part.kind) {
    case ItemPart::kInputText:
    case ItemPart::kOutputText:
      out["type"] = part.kind == ItemPart::kInputText ? "input_text" : "output_text";
      out["text"] = part.text;
      return out;
    case ItemPart::kInputAudio:
      out["type"] = "input_audio";
      if (with_audio && !part.samples.empty()) out["audio"] = base64(bytes_in(part.samples, input));
      out["transcript"] = part.known && !part.pending ? JsonOut(part.text) : JsonOut();
      return out;
    case ItemPart::kOutputAudio:
      out["type"] = "output_audio";
      if (with_audio && !part.bytes.empty()) out["audio"] = base64(part.bytes);
      out["transcript"] = part.text;
      return out;
  }
  return out;
}

/// Returns the answer's part if its ids are kept; null if they are not, or if it was cut at 0 s.
const ItemPart* made_of(const RealtimeItem& item) {
  if (item.parts.size() != 1 || item.parts.front().ids.empty()) return nullptr;
  const ItemPart& part = item.parts.front();
  return part.heard_s.value_or(1) > 0 ? &part : nullptr;
}

/// Returns whether a model that takes audio receives this part as a recording.
bool sounds(const ItemPart& part) {
  return part.kind == ItemPart::kInputAudio && !part.samples.empty() && !part.read;
}

JsonIn recording_part(std::span<const int16_t> samples) {
  return {{"type", "input_audio"},
          {"input_audio", {{"data", base64(wav_of(samples))}, {"format", "wav"}}}};
}

JsonIn message_of(const RealtimeItem& item, bool heard) {
  std::string text;
  JsonIn parts = JsonIn::array();
  bool recordings = false;
  for (const ItemPart& part : item.parts) {
    if (heard && sounds(part)) {
      recordings = true;
      parts.push_back(recording_part(part.samples));
      continue;
    }
    if (part.text.empty()) continue;
    text += (text.empty() ? "" : "\n") + part.text;
    parts.push_back({{"type", "text"}, {"text", part.text}});
  }
  if (recordings) return {{"role", item.role}, {"content", std::move(parts)}};
  const bool named = heard && made_of(item) != nullptr;
  if (text.empty() && !named) return {};
  JsonIn out = {{"role", item.role}, {"content", std::move(text)}};
  if (named) out["audio"] = {{"id", item.id}};
  return out;
}

}  // namespace

JsonIn said_message(std::span<const int16_t> samples) {
  return {{"role", "user"}, {"content", JsonIn::array({recording_part(samples)})}};
}

bool RealtimeItem::pending() const {
  return std::any_of(parts.begin(), parts.end(), [](const ItemPart& part) { return part.pending; });
}

RealtimeItem read_item(const JsonFields& fields, RealtimeFormat format) {
  RealtimeItem out;
  out.id = fields.text("id").value_or("");
  if (out.id.size() > kMaxNameBytes) fields.refuse("id", "An id may have at most 128 bytes.");
  const std::string type = fields.need_text("type");
  if (type == "function_call") {
    out.kind = RealtimeItem::kCall;
    out.call_id = fields.text("call_id").value_or("");
    out.name = fields.need_text("name");
    out.arguments = fields.text("arguments").value_or("{}");
    if (!parse_object(out.arguments.empty() ? "{}" : out.arguments)) {
      fields.refuse("arguments", "'arguments' must be a JSON object as text.");
    }
  } else if (type == "function_call_output") {
    out.kind = RealtimeItem::kOutput;
    out.call_id = fields.need_text("call_id");
    out.output = fields.text("output").value_or("");
  } else if (type == "message") {
    const auto role = fields.choice("role", {"system", "user", "assistant"});
    if (!role) fields.missing("role");
    out.role = *role;
    const auto* content = fields.list("content");
    if (content == nullptr) fields.missing("content");
    if (content->size() > kMostParts)
      fields.refuse("content", "A message may have at most 64 parts.");
    for (size_t i = 0; i < content->size(); ++i) {
      if (!(*content)[i].is_object()) fields.refuse("content", "A part must be an object.");
      const JsonFields part((*content)[i], concat(fields.path("content"), "[", i, "]."));
      out.parts.push_back(read_part(part, out.role, format));
    }
  } else {
    fields.refuse("type", concat("Invalid value: '", type.substr(0, 100),
                                 "'. Supported values are: 'message', 'function_call', and "
                                 "'function_call_output'."));
  }
  return out;
}

ApiError taken_id(const std::string& id) {
  return {.message = concat("There is an item with the id '", id, "' already."),
          .param = "item.id",
          .code = "item_create_duplicate_item_id"};
}

JsonOut item_object(const RealtimeItem& item, bool with_audio, RealtimeFormat input) {
  JsonOut out = {{"id", item.id}, {"object", "realtime.item"}};
  if (item.kind == RealtimeItem::kMessage) {
    out["type"] = "message";
    out["status"] = item.status;
    out["role"] = item.role;
    JsonOut content = JsonOut::array();
    for (const ItemPart& part : item.parts) {
      content.push_back(part_object(part, with_audio, input));
    }
    out["content"] = std::move(content);
    return out;
  }
  const bool call = item.kind == RealtimeItem::kCall;
  out["type"] = call ? "function_call" : "function_call_output";
  out["status"] = item.status;
  out["call_id"] = item.call_id;
  if (call) {
    out["name"] = item.name;
    out["arguments"] = item.arguments;
  } else {
    out["output"] = item.output;
  }
  return out;
}

namespace {

constexpr double kCharactersASecond = 15;
constexpr double kWideLetter = 3;  // characters that a wide letter counts as, because 好 is a
                                   // syllable, and speakers say five syllables a second

/// Returns how many bytes of `text` are spoken in the time of `characters` characters, if a letter
/// takes the time of weight(letter) characters.
template <class Weight>
size_t said_bytes(std::string_view text, double characters, Weight weight) {
  size_t end = 0;
  while (end < text.size()) {
    const CodePoint next = utf8_at(text, end);
    characters -= weight(next.value);
    if (characters < 0) break;
    end += next.size;
  }
  return end;
}

/// Returns where the last whole word before `end` ends. Text without blanks may be cut anywhere.
size_t word_end(std::string_view text, size_t end) {
  if (end >= text.size() || is_wide_letter(utf8_at(text, end).value)) return end;
  for (size_t at = end; at > 0;) {
    if (text[at] == ' ' || text[at] == '\n') return at;
    const CodePoint before = utf8_before(text, at);
    if (is_wide_letter(before.value)) return at;
    at -= before.size;
  }
  return text[0] == ' ' || text[0] == '\n' ? 0 : end;
}

}  // namespace

bool truncate_part(ItemPart& part, double heard_s) {
  constexpr double kSlack_s = 0.1;  // clients round times to whole audio buffers
  if (part.audio_s > 0 && heard_s > part.audio_s + kSlack_s) return false;
  part.cut = true;
  part.heard_s = std::min(heard_s, part.heard_s.value_or(heard_s));
  if (part.whole && heard_s >= part.audio_s) return true;
  size_t end = 0;
  if (!part.words.empty()) {
    for (const auto& [word_end, begin_s] : part.words) {
      if (begin_s < heard_s) end = std::max(end, word_end);
    }
  } else {
    const double rate =
        part.whole ? static_cast<double>(utf8_count(part.text)) / part.audio_s : kCharactersASecond;
    end = word_end(part.text, said_bytes(part.text, rate * heard_s, [&](char32_t letter) {
                     return !part.whole && is_wide_letter(letter) ? kWideLetter : 1.0;
                   }));
  }
  part.text.resize(std::min(end, part.text.size()));
  const auto kept = static_cast<size_t>(heard_s * part.format.rate_hz()) *
                    static_cast<size_t>(sample_bytes(part.format.coding));
  part.bytes.resize(std::min(kept, part.bytes.size()));
  part.audio_s = std::min(part.audio_s, heard_s);
  std::erase_if(part.words, [end](const auto& word) { return word.first > end; });
  return true;
}

RealtimeItem* Conversation::find(std::string_view id) {
  return const_cast<RealtimeItem*>(std::as_const(*this).find(id));
}

const RealtimeItem* Conversation::find(std::string_view id) const {
  const auto at = std::find_if(items_.begin(), items_.end(),
                               [id](const RealtimeItem& item) { return item.id == id; });
  return at == items_.end() ? nullptr : &*at;
}

const std::string* Conversation::previous(std::string_view id) const {
  const std::string* before = nullptr;
  for (const RealtimeItem& item : items_) {
    if (item.id == id) return before;
    before = &item.id;
  }
  return nullptr;
}

bool Conversation::has_call(std::string_view call_id) const {
  return std::any_of(items_.begin(), items_.end(), [&](const RealtimeItem& item) {
    return item.kind == RealtimeItem::kCall && item.call_id == call_id;
  });
}

RealtimeItem& Conversation::add(RealtimeItem item, const std::optional<std::string>& previous) {
  if (find(item.id) != nullptr) {
    throw taken_id(item.id);
  }
  size_t bytes = text_bytes_of(item);
  for (const RealtimeItem& each : items_) bytes += text_bytes_of(each);
  if (items_.size() >= kMaxItems || bytes > kMaxTextBytes) {
    throw ApiError{.message = concat("A conversation may have ", kMaxItems, " items and ",
                                     kMaxTextBytes, " bytes of text; delete some."),
                   .param = "item",
                   .code = "conversation_too_long"};
  }
  auto at = items_.end();
  if (previous && *previous == "root") {
    at = items_.begin();
  } else if (previous) {
    at = std::find_if(items_.begin(), items_.end(),
                      [&](const RealtimeItem& each) { return each.id == *previous; });
    if (at == items_.end()) {
      throw ApiError{.message = concat("Error creating item: the previous item with id '",
                                       previous->substr(0, 100), "' does not exist."),
                     .param = "previous_item_id",
                     .code = "item_create_invalid_previous_item_id"};
    }
    ++at;
  }
  return *items_.insert(at, std::move(item));
}

bool Conversation::remove(std::string_view id) {
  return items_.remove_if([id](const RealtimeItem& item) { return item.id == id; }) > 0;
}

bool Conversation::pending() const {
  return std::any_of(items_.begin(), items_.end(),
                     [](const RealtimeItem& item) { return item.pending(); });
}

void Conversation::bound_audio() {
  size_t said = 0, answered = 0, id_bytes = 0;
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    for (ItemPart& part : item->parts) {
      id_bytes += part.ids.size() * sizeof(int32_t);
      if (id_bytes > kMaxIdBytes) {
        id_bytes -= part.ids.size() * sizeof(int32_t);
        part.ids = std::vector<int32_t>();
      }
      if (!is_audio(part)) continue;
      size_t& bytes = part.kind == ItemPart::kInputAudio ? said : answered;
      bytes += audio_bytes_of(part);
      if (bytes <= kMaxAudioBytes) continue;
      bytes -= audio_bytes_of(part);
      part.samples = std::vector<int16_t>();  // clear() would keep the memory
      std::string().swap(part.bytes);
    }
  }
}

void Conversation::hear_newest(double most_s) {
  double all_s = 0;
  std::vector<ItemPart*> said;
  for (RealtimeItem& item : items_) {
    for (ItemPart& part : item.parts) {
      if (!sounds(part)) continue;
      said.push_back(&part);
      all_s += seconds_of(part);
    }
  }
  size_t count = said.size();
  if (all_s <= most_s && count <= kMaxRecordings) return;
  for (ItemPart* part : said) {
    if (all_s <= 0.75 * most_s && count <= kMaxRecordings / 4 * 3) return;
    if (count == 1) return;  // keeps the newest recording; the model refuses it if it is too long
    part->read = true;
    all_s -= seconds_of(*part);
    --count;
  }
}

std::map<std::string, NamedAnswer> Conversation::answers() const {
  std::map<std::string, NamedAnswer> out;
  for (const RealtimeItem& item : items_) {
    const ItemPart* part = made_of(item);
    if (part == nullptr) continue;
    auto ids = std::make_shared<const std::vector<int32_t>>(part->ids);
    std::optional<double> heard_s = part->heard_s;
    if (heard_s) *heard_s *= part->speed;
    out[item.id] = {.made = {std::move(ids), heard_s}, .text = part->text};
  }
  return out;
}

JsonIn Conversation::messages(const std::string& instructions, bool heard,
                              const std::function<std::string(const std::string& id)>& pending,
                              std::vector<std::string>* items) const {
  JsonIn out = JsonIn::array();
  if (!trimmed(instructions).empty()) {
    out.push_back({{"role", "system"}, {"content", instructions}});
  }
  bool calling = false;  // the last message has calls; the next call may be added to it
  const size_t instructed = out.size();
  for (const RealtimeItem& item : items_) {
    if (item.left_out) continue;
    if (item.kind == RealtimeItem::kMessage) {
      JsonIn message = message_of(item, heard);
      if (message.is_null() && pending && item.pending()) {
        std::string text = pending(item.id);
        if (!text.empty()) message = {{"role", item.role}, {"content", std::move(text)}};
      }
      if (message.is_null()) continue;
      out.push_back(std::move(message));
      calling = false;
    } else if (item.kind == RealtimeItem::kCall) {
      if (!std::exchange(calling, true)) {
        // If the answer also has text, the calls are added to the message that contains the text.
        if (out.empty() || out.back()["role"] != "assistant" || out.back().contains("tool_calls")) {
          out.push_back({{"role", "assistant"}, {"content", ""}});
        }
        out.back()["tool_calls"] = JsonIn::array();
      }
      out.back()["tool_calls"].push_back(
          {{"id", item.call_id},
           {"type", "function"},
           {"function", {{"name", item.name}, {"arguments", item.arguments}}}});
    } else {
      out.push_back({{"role", "tool"}, {"tool_call_id", item.call_id}, {"content", item.output}});
      calling = false;
    }
    if (items == nullptr) continue;
    items->resize(out.size() - instructed);
    items->back() = item.id;
  }
  return out;
}

void Conversation::leave_out(std::string_view last) {
  if (find(last) == nullptr) return;
  for (RealtimeItem& item : items_) {
    item.left_out = true;
    if (item.id == last) return;
  }
}

JsonIn chat_tools_of(const JsonIn& tools) {
  JsonIn out = JsonIn::array();
  for (const JsonIn& tool : tools) {
    JsonIn function = {{"name", tool.at("name")}};
    for (const char* name : {"description", "parameters"}) {
      if (tool.contains(name) && !tool.at(name).is_null()) function[name] = tool.at(name);
    }
    out.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return out;
}

JsonIn chat_tool_choice_of(const JsonIn& choice) {
  if (!choice.is_object()) return choice;
  return {{"type", "function"}, {"function", {{"name", choice.at("name")}}}};
}

}  // namespace syrinx
