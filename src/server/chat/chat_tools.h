// Finds calls of tools in the text of an answer while it arrives. A call is one of these:
// - Text between <tool_call> and </tool_call>. The text is JSON {"name", "arguments"}, as Qwen and
//   Hermes write it, or lines ("function", the name, the arguments as JSON), as Step-Audio 2
//   writes them. If no closing tag follows the JSON, the call ends with the JSON.
// - A JSON object of a known tool at the beginning of a line: {"name", "arguments"} or
//   {"name", "parameters"}.
//   It is bare, as Llama 3 writes it, or within a fence (``` or ```json).
//
// Text that proves not to be a call stays text. One thread.
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

/// Finds calls in a text while it is written.
class ToolCallFinder {
 public:
  /// Without names, the finder finds no calls.
  explicit ToolCallFinder(std::vector<std::string> names) : names_(std::move(names)) {}

  struct Found {
    std::string text;
    std::vector<ToolCall> calls;
  };
  /// Adds text. Returns the text and calls that are certain; keeps text that may belong to a call.
  Found push(std::string_view text);
  /// Returns the remaining text and calls. Called when the answer has ended.
  Found finish();
  /// Returns the number of calls so far.
  int calls() const { return calls_; }

 private:
  /// The result of examining the text at a position of waiting_.
  struct Look {
    enum Kind { kText, kWait, kCall } kind = kText;
    size_t end = 0;  ///< end of the call, or of the text before a possible call
  };
  Found find(bool ended);
  size_t candidate(size_t from) const;
  bool begins_line(size_t at) const;
  Look look(size_t at, bool ended, Found& found);
  Look look_tagged(size_t at, bool ended, Found& found);
  Look look_bare(size_t at, size_t object, bool ended, Found& found);
  Look look_fenced(size_t at, bool ended, Found& found);
  bool add_call(std::string_view body, bool known_only, Found& found);
  void emit(size_t size, Found& found);

  const std::vector<std::string> names_;
  std::string waiting_;
  bool line_ = true;  // only blanks precede waiting_ on its line
  int calls_ = 0;
};

}  // namespace syrinx
