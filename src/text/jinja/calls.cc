#include "text/jinja/calls.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx::jinja {

const Value* Arguments::get(size_t index, std::string_view name) const {
  if (index < values.size()) return &values[index];
  for (const auto& [key, value] : named)
    if (!name.empty() && key == name) return &value;
  return nullptr;
}

void Arguments::check(std::string_view function, size_t most,
                      std::initializer_list<std::string_view> names) const {
  if (values.size() > most) throw Fault(concat("'", function, "' has too many arguments"));
  for (const auto& [key, value] : named)
    if (std::find(names.begin(), names.end(), key) == names.end())
      throw Fault(concat("'", function, "' takes no argument '", key, "'"));
}

}  // namespace syrinx::jinja
