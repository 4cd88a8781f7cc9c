// Finds calls of tools in the text of an answer while it comes. A call is
// - what stands between <tool_call> and </tool_call>: JSON {"name", "arguments"}, as Qwen and Hermes
//   write them, or lines ("function", the name, the arguments as JSON), as Step-Audio 2 does; where
//   the JSON ends and the closing tag does not follow, the JSON alone;
// - a JSON object {"name", "arguments"} or {"name", "parameters"} that begins a line, bare, as Llama
//   3 writes it, or in a fence (``` or ```json), of a known tool.
// What turns out to be no call stays text. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A call that a model wrote.
struct ToolCall {
  std::string name;
  std::string arguments;  ///< a JSON object
};

/// Finds calls in a text as it is written.
class ToolCallFinder {
 public:
  /// Without names everything is text.
  explicit ToolCallFinder(std::vector<std::string> names) : names_(std::move(names)) {}

  struct Found {
    std::string text;
    std::vector<ToolCall> calls;
  };
  /// What is certain with this text; text that may belong to a call waits.
  Found push(std::string_view text);
  /// The rest, once the answer has ended.
  Found finish();
  /// How many there were.
  int calls() const { return calls_; }

 private:
  /// What begins at a place of the text that waits.
  struct Look {
    enum Kind { kText, kWait, kCall } kind = kText;
    size_t end = 0;  ///< of the call, or of what is text for sure
  };
  Found find(bool ended);
  size_t candidate(size_t from) const;
  bool begins_line(size_t at) const;
  Look look(size_t at, bool ended, Found& found);
  Look look_tagged(size_t at, bool ended, Found& found);
  Look look_bare(size_t at, size_t object, bool ended, Found& found);
  Look look_fenced(size_t at, bool ended, Found& found);
  bool add_call(std::string_view body, bool known_only, Found& found);
  void tell(size_t size, Found& found);

  const std::vector<std::string> names_;
  std::string waiting_;
  bool line_ = true;  // waiting_ begins a line, but for blanks
  int calls_ = 0;
};

}  // namespace syrinx
