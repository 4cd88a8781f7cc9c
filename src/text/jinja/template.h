// Templates of published chat models: a subset of Jinja2 that covers the chat templates of Llama,
// Qwen, Mistral and most other models. The output equals that of transformers'
// apply_chat_template() (trim_blocks and lstrip_blocks on, no HTML escapes).
//
// Statements: if, for (with `if` and `else`, loop.*), set (also of blocks, tuples and attributes of
// namespace()), with, macro (not inside loops and macros), call, filter, raw, break, continue,
// generation. Expressions: all of Jinja's except `*` arguments.
// Filters: abs batch capitalize center count d default dictsort e escape first float forceescape
// format groupby indent int items join last length list lower map max min reject rejectattr replace
// reverse round safe select selectattr slice sort string sum title tojson trim truncate unique
// upper wordcount. An escaped text is a plain text, so a filter may escape it again. Tests: those
// of types, comparisons, in, odd, even, divisibleby, defined.
// Methods: of str (format, split, strip, startswith, replace, ...), dict (get, items, keys, values)
// and list (index, count), but no method that changes a value. Functions: raise_exception,
// strftime_now, namespace, dict, range. Everything else is refused with its name: if possible when
// the template is parsed, also in branches that do not run, otherwise when it runs.
//
// Templates and their values are not trusted. Parsing is limited in size and nesting, rendering in
// steps, nesting and output. Const after parsing, so thread-safe.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

struct Tree;

/// Limits of one rendering.
struct Limits {
  uint64_t work = 100'000'000;  ///< steps, items and bytes; a few seconds
  size_t output = 16'000'000;   ///< bytes of output
};

/// A parsed template. Const after construction, so thread-safe.
class Template {
 public:
  /// Parses a template. Throws a LoadError that names `where`, the line and the construct.
  Template(std::string_view source, const std::string& where);

  using Variables = std::vector<std::pair<std::string, Value>>;
  /// Renders the template. Errors (kInvalid without a param) name the line. `now`: the time that
  /// strftime_now() returns.
  Result<std::string> render(const Variables& variables, std::time_t now,
                             const Limits& limits = {}) const;

 private:
  std::shared_ptr<const Tree> tree_;
};

}  // namespace syrinx::jinja
