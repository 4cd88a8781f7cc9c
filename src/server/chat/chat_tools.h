// Finds calls of tools in the text of an answer while it comes: between <tool_call> and
// </tool_call> as JSON {"name", "arguments"}, as Qwen and Hermes write them, or in lines
// ("function", the name, the arguments as JSON), as Step-Audio 2 does; and an answer that is one
// JSON object {"name", "parameters"}, as Llama 3 writes it. What turns out to be no call of a known
// tool stays text. One thread.
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
  bool add_call(std::string_view body, bool known_only, Found& found);
  void tell(size_t size, Found& found);

  const std::vector<std::string> names_;
  std::string waiting_;
  bool begun_ = false;   // something but white space came
  bool object_ = false;  // the answer begins as a JSON object
  int calls_ = 0;
};

}  // namespace syrinx
