#include "bench/summary.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace syrinx {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string failure_kind(const RequestRecord& record) {
  const std::string name = failure_name(record.failure);
  return record.status != 0 && record.status != 200 ? concat(name, " ", record.status) : name;
}

int most_in_flight(const std::vector<RequestRecord>& requests) {
  std::vector<std::pair<double, int>> changes;
  for (const RequestRecord& record : requests) {
    changes.emplace_back(record.due_s, 1);
    changes.emplace_back(record.due_s + record.total_s, -1);
  }
  std::sort(changes.begin(), changes.end());
  int running = 0, most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, running += change);
  return most;
}

bool is_late(const RequestRecord& record, double limit_s) {
  return record.playback.max_underrun_s > limit_s;
}

}  // namespace

LoadSummary summarize(const LoadResult& result, const ServiceTargets& targets) {
  LoadSummary out;
  out.point = result.point;
  out.lag = result.lag;
  std::vector<double> first_byte, first_audio, audible, silence, total, rtf, longest, stall;
  std::vector<double> for_target;  // infinite for failed requests, which have no audio
  // A few requests in a long window must not look like many requests in a short window.
  const bool window = result.window_s > 0;
  double begin_s = window ? result.warmup_s : std::numeric_limits<double>::max();
  double end_s = window ? result.warmup_s + result.window_s : 0;
  int64_t chunks = 0, viable_chunks = 0;
  int smooth = 0, within_50 = 0, within_100 = 0, within_200 = 0, in_time = 0, good = 0;
  std::vector<RequestRecord> counted;
  for (const RequestRecord& record : result.requests) {
    if (!record.warmup) counted.push_back(record);
  }
  for (const RequestRecord& record : counted) {
    ++out.requests;
    begin_s = std::min(begin_s, record.due_s);
    end_s = std::max(end_s, record.due_s + record.total_s);
    if (!record.ok()) {
      if (out.failed++ == 0) out.first_failure = failure_kind(record) + ": " + record.detail;
      ++out.failures[failure_kind(record)];
      for_target.push_back(std::numeric_limits<double>::max());
      continue;
    }
    const PlaybackFigures& playback = record.playback;
    first_byte.push_back(*record.first_byte_s);
    first_audio.push_back(*record.first_audio_s);
    for_target.push_back(*record.first_audio_s);
    if (record.audible_s) audible.push_back(*record.audible_s);
    silence.push_back(record.silence_s);
    total.push_back(record.total_s);
    rtf.push_back(record.rtf());
    longest.push_back(playback.max_underrun_s);
    stall.push_back(playback.stall_s);
    out.audio_s += playback.audio_s;
    out.underruns += playback.underruns;
    chunks += playback.chunks - 1;
    viable_chunks += playback.viable_chunks;
    smooth += playback.viable();
    within_50 += !is_late(record, 0.05);
    within_100 += !is_late(record, 0.1);
    within_200 += !is_late(record, 0.2);
    const bool timely = *record.first_audio_s <= targets.first_audio_s;
    in_time += timely;
    good += timely && playback.viable();
  }
  out.ok = out.requests - out.failed;
  out.seconds = std::max(0.0, end_s - begin_s);
  out.window_s = window ? result.window_s : out.seconds;
  out.most_in_flight = most_in_flight(counted);
  out.first_byte = percentiles(std::move(first_byte));
  out.first_audio = percentiles(std::move(first_audio));
  out.audible = percentiles(std::move(audible));
  out.silence = percentiles(std::move(silence));
  out.total = percentiles(std::move(total));
  out.rtf = percentiles(std::move(rtf));
  out.longest_underrun = percentiles(std::move(longest));
  out.stall = percentiles(std::move(stall));
  out.smooth = share(smooth, out.ok);
  out.smooth_50ms = share(within_50, out.ok);
  out.smooth_100ms = share(within_100, out.ok);
  out.smooth_200ms = share(within_200, out.ok);
  out.viable_chunks = chunks == 0 ? 1 : share(static_cast<double>(viable_chunks), chunks);
  out.audio_per_s = share(out.audio_s, out.seconds);
  out.requests_per_s = share(out.ok, out.seconds);
  out.in_time = share(in_time, out.requests);
  out.good = share(good, out.requests);
  out.offered = share(out.requests, out.window_s);
  out.goodput = share(good, out.window_s);
  std::sort(for_target.begin(), for_target.end());
  out.target_first_audio_s = percentile(for_target, targets.percentile);
  out.holds = out.requests > 0 && !result.stopped &&
              out.target_first_audio_s <= targets.first_audio_s &&
              share(smooth, out.requests) >= targets.viable;
  return out;
}

}  // namespace syrinx
