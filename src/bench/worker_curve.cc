#include "bench/worker_curve.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr double kShares[] = {0.02, 0.2, 0.4,  0.55, 0.7, 0.8, 0.85, 0.9,
                              0.95, 1,   1.05, 1.1,  1.2, 1.4, 2};
constexpr double kFullShare = 0.8;  // a worker is full if a smaller share of its requests succeeds
constexpr double kMostRate = 1e5;

CurvePoint run_at(double rate, const StepProfile& profile, SimulationOptions options,
                  const CurveOptions& how) {
  options.replicas = how.workers;
  options.fleet.failures.clear();
  options.fleet.autoscaling.reset();
  options.fleet.voices = {};
  TrafficOptions traffic;
  traffic.seed = how.seed;
  traffic.duration_s = std::clamp(how.requests / (rate * how.workers), how.least_s, how.most_s);
  traffic.warmup_s = traffic.duration_s / 4;
  FleetUse use;
  const LoadResult result =
      simulate(profile, options, {LoadKind::kRate, rate * how.workers}, traffic, nullptr, &use);
  const LoadSummary summary = summarize(result, how.targets);
  CurvePoint point;
  point.rate = rate;
  point.requests = summary.requests;
  if (summary.requests == 0) return point;
  point.ok = static_cast<double>(summary.ok) / summary.requests;
  point.good = summary.good;
  point.audio_s = summary.ok > 0 ? summary.audio_s / summary.ok : 0;
  std::vector<double> first;
  for (const RequestRecord& record : result.requests) {
    if (!record.warmup && record.ok()) first.push_back(*record.first_audio_s);
  }
  std::sort(first.begin(), first.end());
  for (int i = 0; i <= WorkerCurve::kQuantiles; ++i) {
    point.first_audio.push_back(
        percentile(first, static_cast<double>(i) / WorkerCurve::kQuantiles));
  }
  double up = 0;
  point.free = 0;
  for (const FleetLook& look : use.looks) {
    up += look.up;
    point.free += look.free;
    point.used += look.used, point.wait_s += look.wait_s;
    point.in_flight += look.in_flight, point.playing += look.playing;
  }
  for (double* each : {&point.free, &point.used, &point.wait_s, &point.in_flight, &point.playing}) {
    *each /= std::max(1.0, up);
  }
  return point;
}

}  // namespace

WorkerCurve::WorkerCurve(std::vector<CurvePoint> points) : points_(std::move(points)) {
  SYRINX_CHECK(points_.size() >= 2 && points_.front().rate == 0, "a curve must begin at rate 0");
  for (size_t i = 1; i < points_.size(); ++i) {
    SYRINX_CHECK(points_[i].rate > points_[i - 1].rate, "the rates of a curve must rise");
  }
}

WorkerCurve::Position WorkerCurve::find(double rate) const {
  size_t below = 0;
  while (below + 2 < points_.size() && points_[below + 1].rate <= rate) ++below;
  const double from = points_[below].rate, to = points_[below + 1].rate;
  return {below, std::clamp((rate - from) / (to - from), 0.0, 1.0)};
}

WorkerCurve calibrate(const StepProfile& profile, const SimulationOptions& options,
                      const CurveOptions& how, const std::function<void(double rate)>& progress) {
  const auto run = [&](double rate) {
    if (progress) progress(rate);
    return run_at(rate, profile, options, how);
  };
  double full = 0;
  for (double rate = 1; full == 0; rate *= 2) {
    const CurvePoint point = run(rate);
    if (point.requests > 0 && point.ok < kFullShare) full = rate * point.ok;
    if (rate > kMostRate) throw LoadError("a worker of this profile is never full");
  }
  if (full <= 0) throw LoadError("a worker of this profile meets its targets for no request");
  std::vector<CurvePoint> points;
  for (const double share : kShares) points.push_back(run(share * full));
  // At rate 0 a worker has the results of the lowest measured rate, but no load.
  CurvePoint idle = points.front();
  idle.free = 1;
  idle.rate = idle.used = idle.wait_s = idle.in_flight = idle.playing = 0;
  points.insert(points.begin(), idle);
  return WorkerCurve(std::move(points));
}

}  // namespace syrinx
