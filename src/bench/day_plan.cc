#include "bench/day_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "bench/balancer.h"

namespace syrinx {
namespace {

constexpr double kLeastFree = 0.01;
constexpr double kSettle = 0.5;  // part of the way to its new share that a worker moves per tick

struct Member {
  bool wanted = false, up = false, slow = false;
  double up_at_s = INFINITY;  ///< when the balancer will notice that the worker is ready
  double up_since_s = 0;
  double rate = 0;  ///< requests per second in the last tick
  WorkerCurve::Position place;
  double wish = 0, share = 0, voice_share = 0;  ///< shares of all requests: without a cloned voice
                                                ///< (target, present), and with one
};

/// A mixture of loads: the number of requests that were answered at each point of the curve.
struct Mixture {
  explicit Mixture(size_t points) : weight(points) {}
  void add(WorkerCurve::Position at, double requests) {
    weight[at.below] += requests * (1 - at.part);
    weight[at.below + 1] += requests * at.part;
  }
  std::vector<double> weight;
};

/// Adds the sums of `row`, a part of the day, to those of `whole`.
void add(const DayRow& row, DayRow& whole) {
  whole.for_s += row.for_s;
  whole.requests += row.requests, whole.cut += row.cut;
  whole.workers += row.workers, whole.up += row.up, whole.used += row.used;
  whole.most_used = std::max(whole.most_used, row.most_used);
}

class DayRun {
 public:
  DayRun(const WorkerCurve& curve, const DayOptions& options);
  DayResult run();

 private:
  void fleet_turn(double now);
  void scale(double now);
  void kill(Member& member, double back_s);
  double time_s(double rate) const;
  void share_out(double rate, double now);
  void serve(double rate, Mixture& mixture);
  void fill(DayRow& row, const Mixture& mixture) const;

  const WorkerCurve& curve_;
  const DayOptions& options_;
  const Fleet& fleet_;
  std::vector<Member> members_;
  std::optional<Autoscaler> autoscaler_;
  const HashRing ring_;
  const std::vector<double> popularity_;
  std::vector<WorkerFailure> failures_;  ///< future failures; the last element is the next failure
  double scale_at_s_;
  bool changed_ = true;  ///< a worker went up or down after voice_share was computed
  DayRow row_;           ///< the row in progress; its fields are sums until fill() makes means
};

DayRun::DayRun(const WorkerCurve& curve, const DayOptions& options)
    : curve_(curve),
      options_(options),
      fleet_(options.fleet.fleet),
      members_(static_cast<size_t>(most_workers(options.fleet))),
      ring_(fleet_.voices.voices > 0 ? most_workers(options.fleet) : 0),
      popularity_(zipf(fleet_.voices.voices, fleet_.voices.skew)),
      failures_(fleet_.failures),
      scale_at_s_(fleet_.autoscaling ? fleet_.autoscaling->every_s : INFINITY) {
  for (int i = 0; i < options.fleet.replicas; ++i) {
    Member& member = members_[static_cast<size_t>(i)];
    member.wanted = member.up = true;
  }
  std::sort(failures_.begin(), failures_.end(),
            [](const auto& a, const auto& b) { return a.at_s > b.at_s; });
  if (fleet_.autoscaling) autoscaler_.emplace(*fleet_.autoscaling);
}

/// Kills a worker. Requests with playing audio are cut off; other requests are served elsewhere.
void DayRun::kill(Member& member, double back_s) {
  row_.cut += curve_.playing(member.place);
  member.up = false, member.up_at_s = back_s + fleet_.check_s;
  changed_ = true;
}

void DayRun::scale(double now) {
  const Autoscaling& how = *fleet_.autoscaling;
  int have = 0;
  double used = 0, wait_s = 0;
  for (const Member& member : members_) {
    have += member.wanted;
    if (!member.wanted || !member.up) continue;
    used += curve_.used(member.place), wait_s += curve_.wait_s(member.place);
  }
  const int wish = autoscaler_->wish(have, used, wait_s, now);
  for (auto at = members_.begin(); have < wish && at != members_.end(); ++at) {
    if (at->wanted) continue;
    at->wanted = true, at->up_at_s = now + how.start_s + fleet_.check_s;
    ++have;
  }
  for (auto at = members_.rbegin(); have > wish && at != members_.rend(); ++at) {
    if (!at->wanted) continue;
    *at = {};
    --have, changed_ = true;
  }
}

void DayRun::fleet_turn(double now) {
  while (!failures_.empty() && failures_.back().at_s <= now) {
    const WorkerFailure failure = failures_.back();
    failures_.pop_back();
    int left = failure.workers;
    for (Member& member : members_) {
      if (left > 0 && member.up) kill(member, now + failure.for_s), --left;
    }
  }
  if (now >= scale_at_s_) scale(now), scale_at_s_ = now + fleet_.autoscaling->every_s;
  for (Member& member : members_) {
    if (member.up || now < member.up_at_s) continue;
    member.up = member.slow = true;
    member.up_since_s = now, member.up_at_s = INFINITY;
    member.rate = member.share = 0, member.place = {};
    changed_ = true;
  }
}

/// Returns the seconds that a request takes at this rate.
double DayRun::time_s(double rate) const {
  const double at_least = std::max(rate, curve_.points()[1].rate);
  return curve_.in_flight(curve_.find(at_least)) / std::min(at_least, curve_.most_rate());
}

/// Computes the rate of each worker. The "least connections" rule keeps connections in proportion
/// to weights. The connections of a worker are its rate times the duration of a request.
void DayRun::share_out(double rate, double now) {
  const double with_voice = popularity_.empty() ? 0 : fleet_.voices.share;
  if (changed_ && with_voice > 0) {
    std::vector<bool> up;
    for (const Member& member : members_) up.push_back(member.up);
    const std::vector<double> shares = voice_shares(ring_, up, popularity_, fleet_.bound);
    for (size_t i = 0; i < members_.size(); ++i) members_[i].voice_share = shares[i];
  }
  changed_ = false;
  double wishes = 0, shares = 0;
  for (Member& member : members_) {
    if (!member.up) continue;
    member.wish = std::max(kLeastFree, curve_.free(member.place)) / time_s(member.rate);
    if (member.slow) {
      const double risen = (now - member.up_since_s + options_.tick_s) / fleet_.slow_start_s;
      member.slow = risen < 1;
      member.wish *= std::min(1.0, risen);
    }
    wishes += member.wish;
  }
  for (Member& member : members_) {
    if (!member.up) continue;
    member.share += kSettle * (member.wish / wishes - member.share);
    shares += member.share;
  }
  for (Member& member : members_) {
    if (!member.up) continue;
    member.rate =
        rate * ((1 - with_voice) * member.share / shares + with_voice * member.voice_share);
    member.place = curve_.find(member.rate);
  }
}

/// Adds the requests of one tick to row_, the report's current row, and to the mixture of loads.
void DayRun::serve(double rate, Mixture& mixture) {
  const double tick_s = options_.tick_s;
  row_.for_s += tick_s;
  row_.requests += rate * tick_s;
  double used = 0, most_used = 0;
  int up = 0, there = 0;
  for (const Member& member : members_) {
    there += member.wanted;
    if (!member.up) continue;
    ++up;
    mixture.add(member.place, std::min(member.rate, curve_.most_rate()) * tick_s);
    const double now_used = curve_.used(member.place);
    used += now_used, most_used = std::max(most_used, now_used);
  }
  row_.workers += there * tick_s, row_.up += up * tick_s;
  row_.used += used / std::max(1, up) * tick_s;
  row_.most_used = std::max(row_.most_used, most_used);
}

DayResult DayRun::run() {
  DayResult out;
  Mixture all(curve_.points().size());
  const double row_s = options_.day.day_s / options_.rows;
  const auto ticks = static_cast<int64_t>(std::ceil(row_s / options_.tick_s - 1e-9));
  for (int i = 0; i < options_.rows; ++i) {
    row_ = {.at_s = i * row_s};
    Mixture mixture(curve_.points().size());
    for (int64_t tick = 0; tick < ticks; ++tick) {
      const double now = row_.at_s + static_cast<double>(tick) * options_.tick_s;
      fleet_turn(now);
      const double rate = options_.peak_rate * options_.day.level(now + options_.tick_s / 2);
      share_out(rate, now);
      serve(rate, mixture);
    }
    add(row_, out.whole);
    for (size_t j = 0; j < mixture.weight.size(); ++j) all.weight[j] += mixture.weight[j];
    fill(row_, mixture);
    out.rows.push_back(row_);
  }
  fill(out.whole, all);
  return out;
}

/// Converts sums to means, and computes counts and times from the mixture.
void DayRun::fill(DayRow& row, const Mixture& mixture) const {
  std::vector<std::pair<double, double>> times;  // first audio, requests
  for (size_t j = 0; j < mixture.weight.size(); ++j) {
    const CurvePoint& point = curve_.points()[j];
    const double requests = mixture.weight[j], ok = requests * point.ok;
    row.ok += ok, row.good += requests * point.good;
    row.audio_s += ok * point.audio_s;
    for (const double time_s : point.first_audio) {
      times.emplace_back(time_s, ok / static_cast<double>(point.first_audio.size()));
    }
  }
  row.refused = std::max(0.0, row.requests - row.ok);
  // Requests that were cut off had been counted as served.
  row.ok = std::max(0.0, row.ok - row.cut), row.good = std::max(0.0, row.good - row.cut);
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double p) {
    double left = p * (row.ok + row.cut);
    for (const auto& [time_s, requests] : times) {
      left -= requests;
      if (left <= 0) return time_s;
    }
    return times.empty() ? 0 : times.back().first;
  };
  row.p50_s = quantile(0.5), row.p90_s = quantile(0.9), row.p99_s = quantile(0.99);
  for (double* each : {&row.workers, &row.up, &row.used}) *each /= row.for_s;
}

}  // namespace

DayResult plan_day(const WorkerCurve& curve, const DayOptions& options) {
  SYRINX_CHECK(options.rows > 0 && options.tick_s > 0 && !options.day.levels.empty());
  return DayRun(curve, options).run();
}

DayResult count_day(const LoadResult& result, const FleetUse& use, const DayOptions& options,
                    const ServiceTargets& targets) {
  DayResult out;
  const double row_s = options.day.day_s / options.rows;
  const auto row_of = [&](double at_s) {
    return std::min(options.rows - 1, static_cast<int>(at_s / row_s));
  };
  std::vector<std::vector<double>> first(options.rows + 1);
  for (int i = 0; i < options.rows; ++i) out.rows.push_back({.at_s = i * row_s, .for_s = row_s});
  const auto each = [&](int i, auto change) {
    change(out.rows[i], first[i]), change(out.whole, first.back());
  };
  for (const RequestRecord& record : result.requests) {
    each(row_of(record.due_s), [&](DayRow& row, std::vector<double>& times) {
      ++row.requests;
      row.cut += record.failure == Failure::kCut;
      row.refused += record.failure == Failure::kStatus;
      if (!record.ok()) return;
      ++row.ok;
      row.good += *record.first_audio_s <= targets.first_audio_s && record.playback.viable();
      row.audio_s += record.playback.audio_s;
      times.push_back(*record.first_audio_s);
    });
  }
  std::vector<int> looks(options.rows + 1);
  for (const FleetLook& look : use.looks) {
    const int i = row_of(look.at_s);
    ++looks[i], ++looks.back();
    each(i, [&](DayRow& row, std::vector<double>&) {
      row.workers += look.there, row.up += look.up;
      row.used += look.used / std::max(1, look.up);
      row.most_used = std::max(row.most_used, look.most_used);
    });
  }
  out.whole.for_s = options.day.day_s;
  for (int i = 0; i <= options.rows; ++i) {
    DayRow& row = i < options.rows ? out.rows[i] : out.whole;
    std::sort(first[i].begin(), first[i].end());
    row.p50_s = percentile(first[i], 0.5), row.p90_s = percentile(first[i], 0.9);
    row.p99_s = percentile(first[i], 0.99);
    for (double* sum : {&row.workers, &row.up, &row.used}) *sum /= std::max(1, looks[i]);
  }
  return out;
}

}  // namespace syrinx
