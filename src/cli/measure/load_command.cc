#include "cli/measure/load_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/calendar.h"
#include "base/check.h"
#include "bench/search.h"
#include "cli/line/exit.h"
#include "cli/line/progress_line.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr double kDuration_s = 30, kWarmup_s = 2;
constexpr int kRepeats = 3, kStreams = 8;

}  // namespace

void write_text(const std::string& path, const std::string& text) {
  NewFile file(path);
  file.append(text.data(), text.size());
  file.commit();
}

std::vector<std::string> texts_of(const BenchOptions& options) {
  if (!options.text.empty()) return {options.text};
  if (options.text_file.empty()) return built_in_texts();
  return parse_texts(read_file(options.text_file, kMaxWorkloadBytes), options.text_file);
}

void need_results(const BenchOptions& options) {
  if (!options.json_file.empty() && options.json_file != "-") need_writable(options.json_file);
  if (!options.html_file.empty()) need_writable(options.html_file);
}

LoadCommand::LoadCommand(const BenchOptions& options) : options_(options) {
  choose_load();
  need_results(options);
}

int LoadCommand::run(RunLoad run_load) {
  run_load_ = std::move(run_load);
  fact("seed", concat(traffic_.seed));
  fact("date", utc_text(std::time(nullptr), "%Y-%m-%d %H:%M UTC"));
  if (options_.search) {
    search();
  } else {
    for (const LoadPoint& point : points_) measure(point, traffic_);
  }
  publish();
  return 0;
}

void LoadCommand::choose_load() {
  const int kinds = !options_.rates.empty() + !options_.streams.empty() +
                    !options_.listeners.empty() + !options_.trace.empty();
  if (kinds > 1) throw UsageError("give only one of --rates, --streams, --realtime and --trace");
  for (const double rate : options_.rates) points_.push_back({LoadKind::kRate, rate});
  for (const int count : options_.streams) {
    points_.push_back({LoadKind::kStreams, static_cast<double>(count)});
  }
  for (const int count : options_.listeners) {
    points_.push_back({LoadKind::kRealtime, static_cast<double>(count)});
  }
  if (!options_.trace.empty()) points_.push_back({LoadKind::kTrace, options_.trace_speed});
  if (points_.empty() && options_.search) points_.push_back({LoadKind::kRate, 1});
  if (points_.empty()) points_.push_back({LoadKind::kStreams, kStreams});
  const LoadKind kind = points_.front().kind;
  if (options_.search && kind == LoadKind::kTrace) {
    throw UsageError("--search needs --rates, --streams or --realtime");
  }
  const bool counted = kind == LoadKind::kStreams && options_.duration_s == 0 && !options_.search;
  if (options_.repeats > 0 && !counted) {
    throw UsageError("--repeats needs --streams, without --duration and --search");
  }
  choose_times(counted);

  if (kind == LoadKind::kTrace) {
    traffic_.trace = parse_trace(read_file(options_.trace, kMaxWorkloadBytes), options_.trace);
  }
  traffic_.texts = texts_of(options_);
  traffic_.seed = options_.request.sampling.seed;
  traffic_.audible_level = std::pow(10.0, options_.audible_dbfs / 20);
  report_.targets = {.first_audio_s = options_.target_first_audio_ms / 1e3,
                     .percentile = options_.target_percentile / 100,
                     .viable = options_.target_viable};
}

void LoadCommand::choose_times(bool counted) {
  const bool traced = points_.front().kind == LoadKind::kTrace;
  if (counted) traffic_.repeats = options_.repeats > 0 ? options_.repeats : kRepeats;
  traffic_.duration_s = options_.duration_s > 0 ? options_.duration_s : kDuration_s;
  traffic_.warmup_s =
      options_.warmup_s >= 0 ? options_.warmup_s : (counted || traced ? 0 : kWarmup_s);
  if (counted) {
    fact("clients", concat(traffic_.repeats, " requests each, one after another"));
  } else if (traced) {
    fact("trace", options_.trace);
  } else {
    const char* arrivals = points_.front().kind == LoadKind::kRate      ? "Poisson arrivals"
                           : points_.front().kind == LoadKind::kStreams ? "closed loop"
                                                                        : "listeners in real time";
    fact("load", concat(arrivals, ", ", traffic_.duration_s, " s measured after ",
                        traffic_.warmup_s, " s of warm-up"));
  }
}

const LoadSummary& LoadCommand::measure(const LoadPoint& point, const TrafficOptions& traffic) {
  ProgressLine line;
  const auto progress = [&line, name = point_name(point)](const LoadProgress& now) {
    line.show(concat(name, "  ", std::round(std::max(0.0, now.elapsed_s)),
                     now.total_s > 0 ? concat(" of ", std::round(now.total_s)) : "", " s  ",
                     now.sent, " sent, ", now.done, " done, ", now.running, " running",
                     now.failed > 0 ? concat(", ", now.failed, " failed") : ""));
  };
  report_.runs.push_back(run_load_(point, traffic, progress));
  report_.summaries.push_back(summarize(report_.runs.back(), report_.targets));
  line.clear();
  return report_.summaries.back();
}

/// Ends a run early once it cannot meet the targets, because a long backlog would take much time.
void LoadCommand::give_up_when_hopeless(TrafficOptions& traffic, const LoadPoint& point) const {
  if (point.kind != LoadKind::kRate) return;
  const double expected = point.level * traffic.duration_s;
  const double late_allowed = 10 + 2 * (1 - report_.targets.percentile) * expected;
  const double bad_allowed = 10 + 2 * (1 - report_.targets.viable) * expected;
  traffic.give_up = [=, late = 0, bad = 0,
                     limit_s = report_.targets.first_audio_s](const RequestRecord& record) mutable {
    late += !record.ok() || *record.first_audio_s > limit_s;
    bad += !record.ok() || !record.playback.viable();
    return late > late_allowed || bad > bad_allowed;
  };
}

void LoadCommand::search() {
  const LoadPoint first = points_.front();
  SearchOptions how{.start = first.level,
                    .precision = options_.search_precision,
                    .whole = first.kind != LoadKind::kRate};
  how.most = how.whole ? traffic_.max_in_flight : 10'000;
  fact("search",
       concat("from ", point_name(first), ", to within ", 100 * options_.search_precision, " %"));
  report_.searched = true;
  report_.search = search_highest(how, [&](double level, bool confirm) {
    TrafficOptions traffic = traffic_;
    if (confirm) {
      traffic.duration_s *= 2;
      traffic.seed += 1;
    }
    const LoadPoint point{first.kind, level};
    give_up_when_hopeless(traffic, point);
    const LoadSummary& run = measure(point, traffic);
    std::fprintf(stderr, "%s%s: first audio p%g %s, %s without underrun: %s\n",
                 point_name(point).c_str(), confirm ? ", repeated for longer" : "",
                 100 * report_.targets.percentile, time_text(run.target_first_audio_s).c_str(),
                 share_text(run.smooth).c_str(), run.holds ? "held" : "missed");
    return run.holds;
  });
}

void LoadCommand::publish() const {
  const bool quiet = options_.json_file == "-";
  if (!quiet) {
    std::string head = report_.title;
    for (const auto& [name, value] : report_.facts) head += " | " + name + ": " + value;
    std::printf("%s\n\n%s%s", head.c_str(), table_text(report_.summaries, report_.targets).c_str(),
                remarks_text(report_).c_str());
  }
  const auto json = [this] { return report_json(report_, options_.json_requests); };
  if (quiet) std::fputs(json().c_str(), stdout);
  if (!quiet && !options_.json_file.empty()) write_text(options_.json_file, json());
  if (!options_.html_file.empty()) write_text(options_.html_file, report_html(report_));
}

}  // namespace syrinx
