#include "cli/line/load_line.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "cli/line/progress_line.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr double kShownFrom_s = 1;  // shorter loads show nothing

}  // namespace

std::string load_text(const ModelProgress& progress, double passed_s) {
  // Some tensors of the files may be skipped, so the total is an upper bound.
  const int64_t done = std::min(progress.done_bytes, progress.total_bytes);
  std::string text =
      concat("loading ", progress.model, ": ", size_text(static_cast<uint64_t>(done)), " of ",
             size_text(static_cast<uint64_t>(progress.total_bytes)));
  if (done == 0 || passed_s <= 0) return text;
  const auto left = static_cast<double>(progress.total_bytes - done);
  const auto left_s = static_cast<int64_t>(std::ceil(left / static_cast<double>(done) * passed_s));
  if (left_s >= 60) text += concat(", ", left_s / 60, " min ", left_s % 60, " s left");
  if (left_s < 60) text += concat(", ", left_s, " s left");
  return text;
}

std::function<void(const ModelProgress&)> show_load() {
  return [line = std::make_shared<ProgressLine>()](const ModelProgress& progress) {
    if (progress.ended) return line->clear();
    const double passed_s = now_s() - progress.began_s;
    if (passed_s >= kShownFrom_s) line->show(load_text(progress, passed_s));
  };
}

std::function<void(const ModelProgress&)> log_load(std::function<void(const std::string&)> log,
                                                   double every_s) {
  // last_s may belong to an earlier load; it is then less than began_s.
  return
      [log = std::move(log), every_s, last_s = double{0}](const ModelProgress& progress) mutable {
        const double at_s = now_s();
        if (progress.ended || at_s < std::max(progress.began_s, last_s) + every_s) return;
        last_s = at_s;
        log(load_text(progress, at_s - progress.began_s));
      };
}

}  // namespace syrinx
