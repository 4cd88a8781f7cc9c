#include "cli/line/ranges.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>

namespace syrinx {
namespace {

std::string as_written(double number) {
  std::ostringstream out;
  out.precision(12);  // prints 1000000 without an exponent and 0.1 exactly
  out << number;
  return out.str();
}

CLI::Validator bounded(std::function<bool(double)> good, const std::string& shape,
                       const std::string& wanted) {
  return {[good = std::move(good), wanted](std::string& text) -> std::string {
            char* end = nullptr;
            const double number = std::strtod(text.c_str(), &end);
            const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number);
            if (!is_number) return "'" + text + "' is not a number";
            return good(number) ? "" : text + " is not " + wanted;
          },
          shape};
}

}  // namespace

CLI::Validator between(double low, double high) {
  return bounded([=](double number) { return number >= low && number <= high; },
                 as_written(low) + ".." + as_written(high),
                 "between " + as_written(low) + " and " + as_written(high));
}

CLI::Validator at_least(double low) {
  return bounded([=](double number) { return number >= low; }, ">=" + as_written(low),
                 as_written(low) + " or more");
}

CLI::Validator above(double low) {
  return bounded([=](double number) { return number > low; }, ">" + as_written(low),
                 "more than " + as_written(low));
}

}  // namespace syrinx
