// Calls in a template, and their arguments. Plain values.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace syrinx::jinja {

/// What a template can call: a macro, the block of a call, a global function, or a value's method.
struct Callable {
  const Macro* macro = nullptr;
  int block = 0;  ///< CalledBlock::number if `macro` is the block of a call; 0 for other macros
  Global global = Global::kNone;
  std::string method = {};
  Value self = {};
};

/// The arguments of a call, by position and by name.
struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named;

  /// Returns argument `index`, or the argument called `name`; null if the call lacks both.
  const Value* get(size_t index, std::string_view name = {}) const;
  /// Throws a Fault for more than `most` arguments, or for a name that is not in `names`.
  void check(std::string_view function, size_t most,
             std::initializer_list<std::string_view> names = {}) const;
};

}  // namespace syrinx::jinja
