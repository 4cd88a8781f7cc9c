#include "base/number.h"

#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <cmath>
#include <string>

namespace syrinx {
namespace {

/// Parses with `read`, which is strtof_l() or strtod_l().
template <typename T, typename Read>
bool parse_by(Read read, std::string_view text, T& out) {
  static const locale_t kPlain = newlocale(LC_ALL_MASK, "C", nullptr);
  // The C library also accepts leading spaces, a plus sign, hexadecimal digits and "nan(1)".
  if (text.empty() || text.front() == '+') return false;
  if (text.find_first_of(" \t\n\v\f\rxX(") != text.npos) return false;
  const std::string copy(text);
  char* end = nullptr;
  const T value = read(copy.c_str(), &end, kPlain);
  if (end != copy.c_str() + copy.size()) return false;
  const bool named = copy.find_first_of("nN") != copy.npos;  // text "inf" or "nan"
  const size_t digit = copy.substr(0, copy.find_first_of("eE")).find_first_of("123456789");
  const bool too_small = value == 0 && digit != copy.npos;
  if (too_small || (std::isinf(value) && !named)) return false;
  out = value;
  return true;
}

}  // namespace

bool parse_by_strtod(std::string_view text, float& out) { return parse_by(strtof_l, text, out); }
bool parse_by_strtod(std::string_view text, double& out) { return parse_by(strtod_l, text, out); }

}  // namespace syrinx
