#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace syrinx {
namespace {

using Json = nlohmann::ordered_json;

Json time_json(double seconds) { return seconds < 1e9 ? Json(seconds) : Json(nullptr); }

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json percentiles_json(const Percentiles& p) {
  return {{"mean", p.mean}, {"p50", p.p50}, {"p90", p.p90},
          {"p95", p.p95},   {"p99", p.p99}, {"max", p.max}};
}

const char* kind_name(LoadKind kind) {
  switch (kind) {
    case LoadKind::kRate:
      return "rate";
    case LoadKind::kStreams:
      return "streams";
    case LoadKind::kRealtime:
      return "listeners";
    case LoadKind::kTrace:
      return "trace";
  }
  return "?";
}

Json summary_json(const LoadSummary& s) {
  return {{"load", {{"kind", kind_name(s.point.kind)}, {"level", s.point.level}}},
          {"requests", s.requests},
          {"ok", s.ok},
          {"failed", s.failed},
          {"failures", s.failures},
          {"seconds", s.seconds},
          {"window_s", s.window_s},
          {"offered_per_s", s.offered},
          {"most_in_flight", s.most_in_flight},
          {"first_byte_s", percentiles_json(s.first_byte)},
          {"first_audio_s", percentiles_json(s.first_audio)},
          {"audible_s", percentiles_json(s.audible)},
          {"leading_silence_s", percentiles_json(s.silence)},
          {"longest_underrun_s", percentiles_json(s.longest_underrun)},
          {"stall_s", percentiles_json(s.stall)},
          {"underruns", s.underruns},
          {"share_no_underrun", s.smooth},
          {"share_underrun_50ms", s.smooth_50ms},
          {"share_underrun_100ms", s.smooth_100ms},
          {"share_underrun_200ms", s.smooth_200ms},
          {"share_viable_chunks", s.viable_chunks},
          {"total_s", percentiles_json(s.total)},
          {"rtf", percentiles_json(s.rtf)},
          {"audio_s", s.audio_s},
          {"audio_s_per_s", s.audio_per_s},
          {"requests_per_s", s.requests_per_s},
          {"share_in_time", s.in_time},
          {"share_good", s.good},
          {"goodput_per_s", s.goodput},
          {"first_audio_at_target_percentile_s", time_json(s.target_first_audio_s)},
          {"holds_targets", s.holds},
          {"generator_lag_s", percentiles_json(s.lag)}};
}

Json request_json(const RequestRecord& r) {
  return {{"due_s", r.due_s},
          {"warmup", r.warmup},
          {"text_bytes", r.text_bytes},
          {"lag_s", r.lag_s},
          {"first_byte_s", optional_json(r.first_byte_s)},
          {"first_audio_s", optional_json(r.first_audio_s)},
          {"audible_s", optional_json(r.audible_s)},
          {"leading_silence_s", r.silence_s},
          {"total_s", r.total_s},
          {"audio_s", r.playback.audio_s},
          {"chunks", r.playback.chunks},
          {"viable_chunks", r.playback.viable_chunks},
          {"underruns", r.playback.underruns},
          {"longest_underrun_s", r.playback.max_underrun_s},
          {"stall_s", r.playback.stall_s},
          {"failure", r.ok() ? Json(nullptr) : Json(failure_name(r.failure))},
          {"status", r.status},
          {"detail", r.detail}};
}

}  // namespace

std::string report_json(const Report& report, bool requests) {
  Json facts = Json::object();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  Json out = {{"title", report.title},
              {"facts", facts},
              {"targets",
               {{"first_audio_s", report.targets.first_audio_s},
                {"percentile", report.targets.percentile},
                {"viable", report.targets.viable}}}};
  if (report.searched) {
    out["search"] = {{"best", report.search.best},
                     {"confirmed", report.search.confirmed},
                     {"limited", report.search.limited}};
  }
  Json runs = Json::array();
  for (size_t i = 0; i < report.summaries.size(); ++i) {
    runs.push_back(summary_json(report.summaries[i]));
    if (!requests) continue;
    Json list = Json::array();
    for (const RequestRecord& record : report.runs[i].requests)
      list.push_back(request_json(record));
    runs.back()["each_request"] = list;
  }
  out["runs"] = runs;
  // Text from a server may be invalid UTF-8.
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace syrinx
