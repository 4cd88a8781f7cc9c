#include "bench/step_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/file.h"
#include "io/json.h"

namespace syrinx {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLongest_s = 1000;

Json link_json(const LinkProfile& link) {
  return {{"name", link.name},
          {"initial", link.policy.initial},
          {"steady", link.policy.steady},
          {"left", link.policy.left},
          {"lookahead", link.policy.lookahead},
          {"multiple", link.policy.multiple},
          {"samples_per_frame", link.samples_per_frame},
          {"spread", link.spread},
          {"jobs", link.jobs},
          {"frames", link.frames},
          {"seconds", link.seconds}};
}

std::vector<int> counts(const Config& from, const std::string& key) {
  std::vector<int> out;
  for (const int64_t value : from.ints(key, 1, 1 << 20)) {
    if (!out.empty() && value <= out.back()) from.fail(key, "must increase");
    out.push_back(static_cast<int>(value));
  }
  if (out.empty()) from.fail(key, "is empty");
  return out;
}

std::vector<double> seconds(const Config& from, const std::string& key, size_t count) {
  std::vector<double> out = from.floats(key);
  for (const double value : out) {
    if (!(value >= 0 && value < kLongest_s)) from.fail(key, "expected times from 0 to 1000 s");
  }
  if (out.size() != count) {
    from.fail(key, concat("has ", out.size(), " items, expected ", count));
  }
  return out;
}

int small(const Config& from, const std::string& key, int least) {
  return static_cast<int>(from.i(key, least, 1 << 24));
}

std::vector<double> spread(const Config& from, const std::string& key) {
  std::vector<double> out = from.floats(key);
  for (const double value : out) {
    if (!(value >= 0 && value < 1e6)) from.fail(key, "expected factors from 0 to 1e6");
  }
  return out;
}

LinkProfile read_link(const Config& from) {
  LinkProfile link;
  link.name = from.s("name");
  link.policy.initial = small(from, "initial", 1);
  link.policy.steady = small(from, "steady", 1);
  link.policy.left = small(from, "left", 0);
  link.policy.lookahead = small(from, "lookahead", 0);
  link.policy.multiple = small(from, "multiple", 1);
  link.samples_per_frame = from.f("samples_per_frame", 1e-6, 1e9);
  link.spread = spread(from, "spread");
  link.jobs = counts(from, "jobs");
  link.frames = counts(from, "frames");
  const auto& rows = from.raw().at("seconds");
  if (!rows.is_array() || rows.size() != link.jobs.size())
    from.fail("seconds", "must be a list with a row for each of \"jobs\"");
  for (const auto& row : rows) {
    const nlohmann::json one = {{"seconds", row}};
    const Config as_config = Config::parse(one.dump(), from.where());
    link.seconds.push_back(seconds(as_config, "seconds", link.frames.size()));
  }
  return link;
}

std::vector<SegmentProfile> read_segments(const Config& from) {
  std::vector<SegmentProfile> segments;
  for (const Config& item : from.subs("segments")) {
    SegmentProfile segment;
    segment.prompt_rows = small(item, "prompt_rows", 1);
    segment.companion_rows = small(item, "companion_rows", 0);
    segment.steps = small(item, "steps", 1);
    segment.frames = small(item, "frames", 0);
    segment.first_frame_step = small(item, "first_frame_step", 1);
    segments.push_back(segment);
  }
  if (segments.empty()) from.fail("segments", "is empty");
  return segments;
}

UtteranceProfile read_utterance(const Config& from, size_t nodes) {
  UtteranceProfile utterance;
  utterance.text_bytes = static_cast<size_t>(from.i("text_bytes"));
  utterance.open_s = from.f("open_s", 0, kLongest_s);
  for (const Config& item : from.subs("nodes")) utterance.nodes.push_back(read_segments(item));
  if (utterance.nodes.size() != nodes) {
    from.fail("nodes", concat("has ", utterance.nodes.size(), " items, expected ", nodes));
  }
  return utterance;
}

ArProfile read_ar(const Config& from) {
  ArProfile ar;
  ar.name = from.s("name");
  ar.lead = small(from, "lead", 0);
  ar.spread = spread(from, "spread");
  for (const Config& item : from.subs("decode")) {
    DecodeCosts row;
    row.batch = small(item, "batch", 1);
    row.kv = item.floats("kv");
    row.seconds = seconds(item, "seconds", row.kv.size());
    const bool rising = std::is_sorted(row.kv.begin(), row.kv.end()) &&
                        std::adjacent_find(row.kv.begin(), row.kv.end()) == row.kv.end();
    if (row.kv.empty() || !rising) item.fail("kv", "must increase");
    if (!ar.decode.empty() && row.batch <= ar.decode.back().batch) {
      item.fail("batch", "must increase");
    }
    ar.decode.push_back(row);
  }
  if (ar.decode.empty()) from.fail("decode", "is empty");
  for (const Config& item : from.subs("prefill")) {
    const int rows = small(item, "rows", 1);
    if (!ar.prefill.empty() && rows <= ar.prefill.back().first) item.fail("rows", "must increase");
    ar.prefill.emplace_back(rows, item.f("seconds", 0, kLongest_s));
  }
  return ar;
}

Json ar_json(const ArProfile& ar) {
  Json decode = Json::array(), prefill = Json::array();
  for (const DecodeCosts& row : ar.decode) {
    decode.push_back({{"batch", row.batch}, {"kv", row.kv}, {"seconds", row.seconds}});
  }
  for (const auto& [rows, cost] : ar.prefill) {
    prefill.push_back({{"rows", rows}, {"seconds", cost}});
  }
  return {{"name", ar.name},
          {"lead", ar.lead},
          {"spread", ar.spread},
          {"decode", decode},
          {"prefill", prefill}};
}

Json segments_json(const std::vector<SegmentProfile>& from) {
  Json segments = Json::array();
  for (const SegmentProfile& segment : from) {
    segments.push_back({{"prompt_rows", segment.prompt_rows},
                        {"companion_rows", segment.companion_rows},
                        {"steps", segment.steps},
                        {"frames", segment.frames},
                        {"first_frame_step", segment.first_frame_step}});
  }
  return {{"segments", segments}};
}

/// Returns the last index of the ascending `x` whose value is below `at` and that has a successor.
size_t interval(const std::vector<double>& x, double at) {
  const auto above = std::upper_bound(x.begin(), x.end(), at);
  const size_t index = above == x.begin() ? 0 : static_cast<size_t>(above - x.begin()) - 1;
  return std::min(index, x.size() - 2);
}

}  // namespace

double along_curve(const std::vector<double>& x, const std::vector<double>& y, double at) {
  SYRINX_CHECK(!x.empty() && x.size() == y.size(), "a curve needs points with x and y");
  if (x.size() == 1) return y[0];
  const size_t i = interval(x, at);
  const double value = y[i] + (y[i + 1] - y[i]) * (at - x[i]) / (x[i + 1] - x[i]);
  return std::max(value, *std::min_element(y.begin(), y.end()));
}

double ArProfile::step_s(int decodes, double kv_len, int prompt_rows) const {
  double seconds = 0;
  std::vector<double> batches, costs;
  for (const DecodeCosts& row : decode) {
    batches.push_back(row.batch);
    costs.push_back(along_curve(row.kv, row.seconds, kv_len));
  }
  if (decodes > 0) seconds = along_curve(batches, costs, decodes);
  if (prompt_rows > 0 && !prefill.empty()) {
    std::vector<double> rows, prompt;
    for (const auto& [count, cost] : prefill) rows.push_back(count), prompt.push_back(cost);
    double extra = along_curve(rows, prompt, prompt_rows);
    // Both costs include the fixed cost of a step, which counts only once.
    if (decodes > 0) extra = std::max(0.0, extra - prompt.front());
    seconds += extra;
  } else if (prompt_rows > 0) {
    seconds = along_curve(batches, costs, decodes + prompt_rows);
  }
  return seconds;
}

double StepProfile::chunks_s(size_t link, int jobs, double frames) const {
  const LinkProfile& of = links[link];
  const std::vector<double> sizes(of.frames.begin(), of.frames.end());
  const std::vector<double> counts_of(of.jobs.begin(), of.jobs.end());
  std::vector<double> costs;
  for (const std::vector<double>& row : of.seconds) {
    costs.push_back(along_curve(sizes, row, frames));
  }
  return along_curve(counts_of, costs, jobs);
}

std::string profile_json(const StepProfile& profile) {
  Json ars = Json::array(), links = Json::array(), utterances = Json::array();
  for (const ArProfile& ar : profile.ars) ars.push_back(ar_json(ar));
  for (const LinkProfile& link : profile.links) links.push_back(link_json(link));
  for (const UtteranceProfile& utterance : profile.utterances) {
    Json nodes = Json::array();
    for (const auto& segments : utterance.nodes) nodes.push_back(segments_json(segments));
    utterances.push_back(
        {{"text_bytes", utterance.text_bytes}, {"open_s", utterance.open_s}, {"nodes", nodes}});
  }
  const Json out = {{"model", profile.model},
                    {"weights", profile.weights},
                    {"threads", profile.threads},
                    {"sample_rate", profile.sample_rate},
                    {"page_rows", profile.page_rows},
                    {"pages", profile.pages},
                    {"batch_overhead_s", profile.batch_overhead_s},
                    {"sequence_overhead_s", profile.sequence_overhead_s},
                    {"wake_s", profile.wake_s},
                    {"ars", ars},
                    {"links", links},
                    {"utterances", utterances},
                    {"raw", Json::parse(profile.raw)}};
  return out.dump() + "\n";
}

StepProfile parse_profile(const std::string& text, const std::string& path) {
  const Config from = Config::parse(text, path);
  StepProfile profile;
  profile.model = from.s("model");
  profile.weights = from.s("weights");
  profile.threads = small(from, "threads", 1);
  profile.sample_rate = static_cast<int>(from.i("sample_rate", 1000, 384000));
  profile.page_rows = small(from, "page_rows", 1);
  profile.pages = small(from, "pages", 1);
  profile.batch_overhead_s = from.f("batch_overhead_s", 0, 1);
  profile.sequence_overhead_s = from.f("sequence_overhead_s", 0, 1);
  profile.wake_s = from.f("wake_s", 0, 1);
  for (const Config& item : from.subs("ars")) profile.ars.push_back(read_ar(item));
  if (profile.ars.empty()) from.fail("ars", "is empty");
  for (const Config& item : from.subs("links")) profile.links.push_back(read_link(item));
  if (profile.links.empty()) from.fail("links", "is empty");
  for (const Config& item : from.subs("utterances")) {
    profile.utterances.push_back(read_utterance(item, profile.ars.size()));
  }
  if (profile.utterances.empty()) from.fail("utterances", "is empty");
  return profile;
}

StepProfile load_profile(const std::string& path) {
  return parse_profile(read_file(path, Config::kMaxBytes), path);
}

}  // namespace syrinx
