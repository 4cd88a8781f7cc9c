#include "teacher.h"

#include <algorithm>

namespace {
constexpr double kRise = 1.55;  // pitch factor at the end of a rising question
}

std::unique_ptr<Teacher> open_teacher(const std::string& name, int rate) {
  if (name.rfind("hts", 0) == 0) return open_hts_teacher(name, rate);
  if (name.rfind("hibari", 0) == 0 || name.rfind("kokoro", 0) == 0)
    return open_process_teacher(name, rate);
  return open_flite_teacher(name, rate);
}

double voice_end(const std::vector<double>& ends) {
  return ends.size() > 1 ? ends[ends.size() - 2] : ends.back();
}

double rise_start(const std::vector<syrinx::finch::PhoneSymbol>& stream,
                  const std::vector<double>& ends) {
  const auto& names = syrinx::finch::phone_names();
  for (size_t i = stream.size(); i-- > 1;) {
    const double start = ends[i - 1];
    if (voice_end(ends) - start > 0.45) break;
    if (names[stream[i].phone].back() == '1') return start;
  }
  return std::max(0.0, voice_end(ends) - 0.25);
}

double rise_factor(double t, double start, double end) {
  if (t < start) return 1;
  const double x = std::clamp((t - start) / std::max(0.08, end - start), 0.0, 1.0);
  return 0.96 + (kRise - 0.96) * x * x;
}
