#include "text/jinja/template.h"

#include "base/check.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/lexer.h"
#include "text/jinja/parser.h"

namespace syrinx::jinja {

Template::Template(std::string_view source, const std::string& where) {
  try {
    tree_ = parse_template(source);
  } catch (const SyntaxFault& fault) {
    throw LoadError(concat(where, ": line ", fault.line, ": ", fault.what));
  }
}

Result<std::string> Template::render(const Variables& variables, std::time_t now,
                                     const Limits& limits) const {
  Interpreter interpreter(*tree_, now, limits.work, limits.output);
  try {
    for (const auto& [name, value] : variables) interpreter.set(name, value);
    return interpreter.run();
  } catch (const Fault& fault) {
    return Error{ErrorCode::kInvalid,
                 concat("the chat template, line ", interpreter.line(), ": ", fault.what())};
  }
}

}  // namespace syrinx::jinja
