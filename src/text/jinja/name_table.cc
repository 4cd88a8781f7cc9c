#include "text/jinja/name_table.h"

#include "base/check.h"
#include "text/jinja/lexer.h"

namespace syrinx::jinja {

int NameTable::id_of(const std::string& name) {
  const auto [at, fresh] = ids_.emplace(name, static_cast<int>(names_.size()));
  if (fresh) names_.push_back(name);
  return at->second;
}

void NameTable::refuse_unknown_calls() const {
  for (const auto& [name, line] : called_) {
    if (made_.contains(name)) continue;
    throw SyntaxFault{line, name.starts_with('.')
                                ? concat("the method '", name.substr(1), "' is not supported")
                                : concat("unknown function '", name, "'")};
  }
}

}  // namespace syrinx::jinja
