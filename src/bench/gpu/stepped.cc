#include "bench/gpu/stepped.h"

#include <algorithm>

namespace syrinx {

Stepped::Stepped(const Pipeline& pipeline, int most, int positions)
    : pipeline_(pipeline),
      pages_each_(static_cast<int>(
          KvPool::pages_for(std::min(pipeline.graph().ar().traits().max_positions, positions)))) {
  const ArStage& ar = pipeline.graph().ar();
  for (const KvSpec& spec : ar.traits().kv) {
    kv_.emplace_back(spec, int64_t{most} * pages_each_, ar.device());
    kv_bytes_ += static_cast<double>(KvPool::page_bytes(spec)) / KvPool::kPageRows;
  }
  executor_ = std::make_unique<Executor>(1);
  batch_.warm_steps(most, pages_each_);
}

void Stepped::open(const std::string& text, int size) {
  runs_.clear();
  for (int i = 0; i < size; ++i) {
    SpeechRequest request;
    request.say.text = text;
    request.sampling.seed = static_cast<uint64_t>(i);
    request.terms.ignore_stop = true;
    request.terms.max_frames = 1 << 20;
    auto opened = pipeline_.open(request);
    if (!opened.ok()) throw LoadError(opened.error().message);
    runs_.push_back({opened.take().only(), {}, {}});
  }
}

double Stepped::step() {
  batch_.begin_step(pipeline_.graph().ar(), kv_, pages_each_);
  std::vector<int32_t> pages(static_cast<size_t>(pages_each_));
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    for (int p = 0; p < pages_each_; ++p) pages[p] = static_cast<int32_t>(i) * pages_each_ + p;
    const int due = run.state->prompt_rows() + run.steps - run.cached;
    batch_.add({.state = run.state.get(),
                .first_pos = run.cached,
                .rows = due,
                .seed = i,
                .step = static_cast<uint32_t>(run.steps)},
               pages);
    run.cached += due;
  }
  executor_->run(batch_);
  if (!batch_.fault.empty()) throw LoadError("a step failed: " + batch_.fault);
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    const auto each = static_cast<size_t>(batch_.codes_per_step);
    for (size_t k = 0; replaces_codes_ && k < each; ++k) {
      const SampleRule rule = run.state->rule(static_cast<int>(k));
      batch_.codes[i * each + k] = rule.forced >= 0   ? rule.forced
                                   : rule.ranges == 0 ? 0
                                                      : rule.allowed[0].begin;
    }
    StepOutput out(run.frames, run.words, nullptr, nullptr, batch_.values_of(static_cast<int>(i)));
    ++run.steps;
    if (run.state->advance(batch_.codes_of(static_cast<int>(i)), out).next ==
        Verdict::kNextSegment) {
      run.cached = run.steps = 0;
    }
  }
  return batch_.ended_s - batch_.began_s;
}

bool Stepped::is_full() const { return runs_[0].cached + 2 >= pages_each_ * KvPool::kPageRows; }

}  // namespace syrinx
