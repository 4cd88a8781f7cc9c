#include "engine/metrics.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "engine/admission.h"
#include "model/sequence.h"

namespace syrinx {

StageMetrics::StageMetrics(std::string its_stage, std::string its_device)
    : stage(std::move(its_stage)), device(std::move(its_device)) {
  here.set(1);
}

EngineMetrics::EngineMetrics()
    : slowdown_now(all, "slowdown",
                   "Time to the first output, divided by that time of a request alone.", [this] {
                     return Slowdown::faded(std::max(1.0, slowdown.value()),
                                            now_s() - slowdown_at_s.value());
                   }) {
  for (int i = 0; i <= static_cast<int>(FinishReason::kError); ++i) {
    const char* reason = finish_reason_name(static_cast<FinishReason>(i));
    finished.emplace_back(all, "requests_finished_total", "Requests that ended, by reason.",
                          metric_label("reason", reason));
  }
}

void EngineMetrics::append_to(std::vector<LabelledMetrics>& lists, std::string_view model) const {
  const std::string label = metric_label("model", model);
  lists.push_back({label, &all});
  for (const StageMetrics& stage : stages)
    lists.push_back({label + ',' + metric_label("stage", stage.stage), &stage.all});
}

}  // namespace syrinx
