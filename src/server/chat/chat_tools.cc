#include "server/chat/chat_tools.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "text/jinja/value.h"

namespace syrinx {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kFence = "```";
constexpr std::string_view kBlanks = " \t\r\n";
/// Keys that may come first in the JSON object of a call.
constexpr std::string_view kFirstKeys[] = {"\"name\"", "\"arguments\"", "\"parameters\"",
                                           "\"type\"", "\"id\""};

std::string_view trimmed_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Returns the end of the object that begins at `at`; npos if the object is incomplete.
size_t object_end(std::string_view text, size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return text.npos;
}

/// Returns whether one of two texts is a prefix of the other.
bool alike(std::string_view a, std::string_view b) { return a.starts_with(b) || b.starts_with(a); }

/// Returns whether an incomplete object may still become a call.
bool may_be_call(std::string_view object) {
  const size_t key = object.find_first_not_of(kBlanks, 1);
  if (key == object.npos) return true;
  return std::any_of(std::begin(kFirstKeys), std::end(kFirstKeys),
                     [&](std::string_view first) { return alike(object.substr(key), first); });
}

/// A call as the model wrote it, unchecked.
struct WrittenCall {
  std::string name;
  std::optional<jinja::Value> arguments;
};

std::optional<jinja::Value> read_object(std::string_view json) {
  auto parsed = jinja::parse_json(json, 100'000);
  if (!parsed || !parsed.value().is_map()) return std::nullopt;
  return parsed.take();
}

/// Reads a call in JSON: {"name", "arguments"}, or "parameters" for "arguments".
std::optional<WrittenCall> read_json_call(std::string_view body) {
  const auto object = read_object(body);
  if (!object) return std::nullopt;
  const jinja::Value* name = object->map().find("name");
  const jinja::Value* arguments = object->map().find("arguments");
  if (arguments == nullptr) arguments = object->map().find("parameters");
  if (name == nullptr || !name->is_text()) return std::nullopt;
  WrittenCall call{name->text(), {}};
  if (arguments != nullptr) call.arguments = *arguments;
  return call;
}

/// Reads a call written in lines: "function", the name, and optionally the arguments as JSON.
std::optional<WrittenCall> read_lined_call(std::string_view body) {
  std::string_view lines[2];
  for (std::string_view& line : lines) {
    const size_t end = std::min(body.find('\n'), body.size());
    line = trimmed_blanks(body.substr(0, end));
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  if (lines[0] != "function" || lines[1].empty()) return std::nullopt;
  WrittenCall call{std::string(lines[1]), {}};
  body = trimmed_blanks(body);
  if (body.empty()) return call;
  call.arguments = read_object(body);
  return call.arguments ? std::optional(call) : std::nullopt;
}

/// Returns a call's arguments as a JSON object; nothing if the arguments have another form.
std::optional<std::string> arguments_object(const std::optional<jinja::Value>& given) {
  if (!given || given->is_none()) return "{}";
  if (given->is_text()) {  // the object is JSON within a string
    if (trimmed_blanks(given->text()).empty()) return "{}";
    return read_object(given->text()) ? std::optional(given->text()) : std::nullopt;
  }
  if (!given->is_map()) return std::nullopt;
  jinja::Budget budget(std::numeric_limits<uint64_t>::max());
  return to_json(*given, {}, budget);
}

}  // namespace

void ToolCallFinder::emit(size_t size, Found& found) {
  if (size == 0) return;
  const size_t last = waiting_.find_last_not_of(" \t\r", size - 1);
  if (last != waiting_.npos) line_ = waiting_[last] == '\n';
  found.text.append(waiting_, 0, size);
  waiting_.erase(0, size);
}

/// Adds the call to `found`; returns false if the text is not a call.
bool ToolCallFinder::add_call(std::string_view body, bool known_only, Found& found) {
  body = trimmed_blanks(body);
  const auto written = body.starts_with('{') ? read_json_call(body) : read_lined_call(body);
  if (!written) return false;
  const auto& [name, arguments] = *written;
  const bool known = std::find(names_.begin(), names_.end(), name) != names_.end();
  if (known_only && (!known || !arguments)) return false;
  auto object = arguments_object(arguments);
  if (!object) return false;
  found.calls.push_back({name, std::move(*object)});
  ++calls_;
  return true;
}

bool ToolCallFinder::begins_line(size_t at) const {
  const size_t last = at == 0 ? waiting_.npos : waiting_.find_last_not_of(" \t\r", at - 1);
  return last == waiting_.npos ? line_ : waiting_[last] == '\n';
}

/// Returns the first position where a call may begin; npos if no call may begin.
size_t ToolCallFinder::candidate(size_t from) const {
  for (size_t at = from; at < waiting_.size(); ++at) {
    const std::string_view rest = std::string_view(waiting_).substr(at);
    const char c = rest[0];
    if (c == '<' && alike(rest, kOpen)) return at;
    if ((c == '{' || (c == '`' && alike(rest, kFence))) && begins_line(at)) return at;
  }
  return waiting_.npos;
}

ToolCallFinder::Look ToolCallFinder::look(size_t at, bool ended, Found& found) {
  switch (waiting_[at]) {
    case '<':
      return look_tagged(at, ended, found);
    case '`':
      return look_fenced(at, ended, found);
    default:
      return look_bare(at, at, ended, found);
  }
}

ToolCallFinder::Look ToolCallFinder::look_tagged(size_t at, bool ended, Found& found) {
  const std::string_view all = waiting_;
  const size_t inside = at + kOpen.size();
  if (all.size() < inside) return {ended ? Look::kText : Look::kWait, at + 1};
  const size_t close = all.find(kClose, inside), body = all.find_first_not_of(kBlanks, inside);
  const size_t object = body != all.npos && all[body] == '{' ? object_end(all, body) : all.npos;
  if (close < object) {
    const size_t end = close + kClose.size();
    const bool call = add_call(all.substr(inside, close - inside), false, found);
    return {call ? Look::kCall : Look::kText, end};
  }
  if (object == all.npos) {  // the end of the answer replaces the closing tag
    if (!ended) return {Look::kWait};
    return add_call(all.substr(inside), true, found) ? Look{Look::kCall, all.size()}
                                                     : Look{Look::kText, inside};
  }
  const std::string_view call = all.substr(body, object - body);
  const size_t next = std::min(all.find_first_not_of(kBlanks, object), all.size());
  const std::string_view behind = all.substr(next);
  if (behind.starts_with(kClose))
    return {add_call(call, false, found) ? Look::kCall : Look::kText, next + kClose.size()};
  if (!ended && kClose.starts_with(behind)) return {Look::kWait};
  return {add_call(call, true, found) ? Look::kCall : Look::kText, object};
}

/// Checks the JSON object at `object`. The call begins at `at`: its code fence or the object.
ToolCallFinder::Look ToolCallFinder::look_bare(size_t at, size_t object, bool ended, Found& found) {
  const std::string_view all = waiting_;
  if (!may_be_call(all.substr(object))) return {Look::kText, object + 1};
  const size_t end = object_end(all, object);
  if (end == all.npos) return {ended ? Look::kText : Look::kWait, all.size()};
  const std::string_view call = all.substr(object, end - object);
  if (at == object) return {add_call(call, true, found) ? Look::kCall : Look::kText, end};
  const size_t next = std::min(all.find_first_not_of(kBlanks, end), all.size());
  const std::string_view behind = all.substr(next);
  if (!ended && behind.size() < kFence.size() && kFence.starts_with(behind)) return {Look::kWait};
  const bool whole = behind.starts_with(kFence) || (ended && kFence.starts_with(behind));
  if (!whole || !add_call(call, true, found)) return {Look::kText, end};
  return {Look::kCall, std::min(next + kFence.size(), all.size())};
}

ToolCallFinder::Look ToolCallFinder::look_fenced(size_t at, bool ended, Found& found) {
  const std::string_view rest = std::string_view(waiting_).substr(at);
  const size_t line = rest.find('\n');
  const std::string_view first = rest.substr(0, line);
  const auto fits = [&](std::string_view fence) {
    return line == rest.npos ? alike(first, fence) : trimmed_blanks(first) == fence;
  };
  if (!fits("```") && !fits("```json") && !fits("```JSON")) return {Look::kText, at + 1};
  const size_t object = line == rest.npos ? line : rest.find_first_not_of(kBlanks, line);
  if (object == rest.npos) return {ended ? Look::kText : Look::kWait, at + 1};
  if (rest[object] != '{') return {Look::kText, at + 1};
  return look_bare(at, at + object, ended, found);
}

ToolCallFinder::Found ToolCallFinder::push(std::string_view text) {
  waiting_ += text;
  return find(false);
}

ToolCallFinder::Found ToolCallFinder::finish() { return find(true); }

ToolCallFinder::Found ToolCallFinder::find(bool ended) {
  Found found;
  if (names_.empty()) {
    emit(waiting_.size(), found);
    return found;
  }
  /// Returns where the text before `at` ends. Blanks before a call belong to the call.
  const auto before = [&](size_t at) {
    const size_t last = at == 0 ? waiting_.npos : waiting_.find_last_not_of(kBlanks, at - 1);
    return last == waiting_.npos ? 0 : last + 1;
  };
  for (size_t from = 0;;) {
    const size_t at = candidate(from);
    if (at == waiting_.npos) break;
    const Look seen = look(at, ended, found);
    if (seen.kind == Look::kWait) {
      emit(before(at), found);
      return found;
    }
    if (seen.kind == Look::kText) {
      from = seen.end;
      continue;
    }
    found.text.append(waiting_, 0, before(at));
    waiting_.erase(0, seen.end);
    from = 0, line_ = true;
  }
  if (!ended) {
    emit(before(waiting_.size()), found);
  } else if (calls_ > 0 && waiting_.find_first_not_of(kBlanks) == waiting_.npos) {
    waiting_.clear();
  } else {
    emit(waiting_.size(), found);
  }
  return found;
}

}  // namespace syrinx
