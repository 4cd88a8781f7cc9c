#include "bench/measure_steps.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/cores.h"
#include "bench/contention.h"
#include "bench/percentiles.h"
#include "bench/simulator.h"
#include "engine/collector.h"
#include "engine/executor.h"
#include "engine/lane.h"
#include "engine/scheduler.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr int kFewest = 5;         // fewest measurements of a point, even if they take long
constexpr int kLongDecode = 4000;  // most steps of one batch size
constexpr size_t kMostTraceBytes = size_t{512} << 20;
constexpr size_t kMostRaw = 2000;  // most raw measurements that the profile has per batch size
constexpr size_t kAlone = 32;      // requests that arrive while the engine sleeps
constexpr double kEngine_s = 0.8;  // seconds of the engine's run for each load

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return percentile(values, 0.5);
}

/// Returns 1, 2, 3, 4, 6, 8, 12, 16, 24, ... up to `most`. `most` is always included.
std::vector<int> batch_sizes(int most) {
  std::vector<int> sizes;
  for (int size = 1; size < most; size = size < 3              ? size + 1
                                         : (size & (size - 1)) ? size / 3 * 4
                                                               : size / 2 * 3) {
    sizes.push_back(size);
  }
  sizes.push_back(most);
  return sizes;
}

/// Throws for models that a StepProfile cannot describe.
std::vector<Link> links_of(const Pipeline& pipeline) {
  std::vector<Link> links = pipeline.graph().links();
  if (!links.empty()) return links;
  throw LoadError(concat("--profile-steps measures only models that speak; for ",
                         pipeline.info().model, ", which writes text, use bench --predict"));
}

/// A request that is being decoded without an engine.
struct Runner {
  std::unique_ptr<Sequence> state;
  std::vector<int32_t> pages;
  std::vector<int32_t> frames;  ///< codes for the chunk stages
  std::vector<WordMark> words;
  int kv = 0, steps = 0;
  uint32_t total = 0;
  bool ended = false;
};

class Measurement {
 public:
  explicit Measurement(const MeasureOptions& options)
      : options_(options),
        pipeline_(load_pipeline(options.load)),
        links_(links_of(*pipeline_)),
        ar_(pipeline_->graph().ar().traits()),
        most_(options.load.engine.max_batch),
        pages_each_(static_cast<int>(KvPool::pages_for(std::min(ar_.max_positions, kPositions)))) {
    const auto nodes = pipeline_->graph().nodes();
    if (std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.ar; }) > 1) {
      throw LoadError("--profile-steps measures only models with one autoregressive node; " +
                      pipeline_->info().model + " has several");
    }
    profile_.ars.resize(1);
    const Device device = pipeline_->graph().ar().device();
    for (const KvSpec& spec : ar_.kv) kv_.emplace_back(spec, int64_t{most_} * pages_each_, device);
    executor_ = std::make_unique<Executor>(options.load.engine.threads);
    batch_.warm_steps(most_, pages_each_);
  }

  StepProfile run() {
    profile_.model = pipeline_->info().model;
    profile_.weights = options_.load.weights;
    profile_.threads =
        options_.load.engine.threads > 0 ? options_.load.engine.threads : usable_cores();
    profile_.sample_rate = pipeline_->info().speech.sample_rate;
    profile_.pages = pages_for(pipeline_->graph().ar(), options_.load.engine);
    profile_.page_rows = KvPool::kPageRows;
    utterances();
    for (const int size : batch_sizes(most_)) decode(size);
    prefill();
    for (size_t link = 0; link < links_.size(); ++link) chunks(link);
    in_engine();
    profile_.raw = raw_.dump();
    return std::move(profile_);
  }

 private:
  static constexpr int kPositions = 2048;  // most positions for which costs are measured

  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }
  int prefill_rows() const {
    return prefill_rows_for(pipeline_->graph().ar().device(), options_.load.engine);
  }
  Runner open(size_t text, bool endless);
  /// Runs up to `most_rows` rows of each runner in one batch; returns seconds.
  double step(std::span<Runner> runners, int most_rows);
  void advance(Runner& runner, int emitted);
  void utterances();
  void decode(int size);
  void prefill();
  void chunks(size_t link);
  std::vector<float> run_chunks(size_t link, int jobs, int frames, double& seconds);
  void in_engine();
  void compare(const std::string& trace);
  double typical_kv() const;

  const MeasureOptions& options_;
  const std::shared_ptr<const Pipeline> pipeline_;
  const std::vector<Link> links_;
  const ArTraits& ar_;
  const int most_, pages_each_;
  std::vector<KvPool> kv_;
  std::unique_ptr<Executor> executor_;
  Batch batch_;
  ArProfile& ar_profile() { return profile_.ars.front(); }

  StepProfile profile_;
  nlohmann::json raw_ = {{"decode", nlohmann::json::array()}, {"chunks", nlohmann::json::array()}};
  std::vector<Runner> donors_;              ///< requests whose frames feed the chunk stages
  std::vector<std::vector<float>> values_;  ///< inputs of the present link
};

Runner Measurement::open(size_t text, bool endless) {
  SpeechRequest request = options_.request;
  request.say.text = options_.texts[text % options_.texts.size()];
  request.sampling.seed += text;
  request.terms.ignore_stop = endless;
  if (endless) request.terms.max_frames = 1 << 20;
  auto opened = pipeline_->open(request);
  if (!opened.ok()) throw LoadError("the model refuses a text: " + opened.error().message);
  Runner runner;
  runner.state = opened.take().only();
  return runner;
}

double Measurement::step(std::span<Runner> runners, int most_rows) {
  batch_.begin_step(pipeline_->graph().ar(), kv_, pages_each_);
  for (Runner& runner : runners) {
    const int due = runner.state->prompt_rows() + runner.steps - runner.kv;
    StepSequence seq;
    seq.state = runner.state.get();
    seq.first_pos = runner.kv;
    seq.rows = std::min(due, most_rows);
    seq.emits = seq.rows == due;
    seq.seed = 1;
    seq.step = runner.total;
    batch_.add(seq, runner.pages);
  }
  executor_->run(batch_);
  if (!batch_.fault.empty()) throw LoadError("a step failed: " + batch_.fault);
  int emitted = 0;
  for (size_t i = 0; i < runners.size(); ++i) {
    runners[i].kv += batch_.sequences()[i].rows;
    if (batch_.sequences()[i].emits) advance(runners[i], emitted++);
  }
  return batch_.ended_s - batch_.began_s;
}

/// Passes the codes of the batch's result number `emitted` to its request, `runner`.
void Measurement::advance(Runner& runner, int emitted) {
  StepOutput out(runner.frames, runner.words, nullptr, nullptr, batch_.values_of(emitted));
  const Verdict verdict = runner.state->advance(batch_.codes_of(emitted), out);
  ++runner.steps, ++runner.total;
  if (verdict.next == Verdict::kNextSegment) runner.kv = runner.steps = 0;
  if (verdict.next == Verdict::kFinished || runner.steps >= runner.state->max_steps()) {
    runner.ended = true;
  }
}

void give_pages(std::vector<Runner>& runners, int each) {
  for (size_t i = 0; i < runners.size(); ++i) {
    for (int p = 0; p < each; ++p) {
      runners[i].pages.push_back(static_cast<int32_t>(i) * each + p);
    }
  }
}

/// Records the lengths of a request for each text. Runs each request alone, to its end.
void Measurement::utterances() {
  const size_t width = links_.front().stage->in_width();
  for (size_t text = 0; text < options_.texts.size(); ++text) {
    say(concat("text ", text + 1, " of ", options_.texts.size()));
    UtteranceProfile utterance;
    utterance.nodes.resize(1);
    utterance.text_bytes = options_.texts[text].size();
    std::vector<double> opens;
    std::vector<Runner> one(1);
    for (int i = 0; i < kFewest; ++i) {
      const double began_s = now_s();
      one[0] = open(text, false);
      opens.push_back(now_s() - began_s);
    }
    utterance.open_s = median(opens);
    give_pages(one, pages_each_);
    Runner& runner = one[0];
    SegmentProfile segment;
    size_t frames_before = 0;
    while (!runner.ended) {
      if (runner.steps == 0) {
        segment = {runner.state->prompt_rows(), 0, 0, 0, 1};
        if (runner.state->guidance()) segment.companion_rows = runner.state->companion_rows();
      }
      const int had = segment.frames;
      const uint32_t steps_before = runner.total;
      step(one, ar_.max_positions);
      segment.steps += static_cast<int>(runner.total - steps_before);
      segment.frames = static_cast<int>((runner.frames.size() - frames_before) / width);
      if (had == 0 && segment.frames > 0) segment.first_frame_step = segment.steps;
      if (runner.ended || (runner.steps == 0 && segment.steps > 0)) {
        utterance.nodes.front().push_back(segment);
        frames_before = runner.frames.size();
      }
      if (runner.kv + 1 >= pages_each_ * KvPool::kPageRows) {
        throw LoadError(concat("a text needs more than ", pages_each_ * KvPool::kPageRows,
                               " positions, the most that are measured; use shorter texts"));
      }
    }
    profile_.utterances.push_back(utterance);
  }
}

void Measurement::decode(int size) {
  say(concat("decode steps of ", size));
  std::vector<Runner> runners;
  for (int i = 0; i < size; ++i) runners.push_back(open(i, true));
  give_pages(runners, pages_each_);
  for (Runner& runner : runners) {  // runs the prompts, one after another
    while (runner.steps == 0) step({&runner, 1}, prefill_rows());
  }
  std::map<int, std::vector<std::pair<double, double>>> by_length;  // bin of kv -> (kv, seconds)
  const double began_s = now_s();
  size_t kept = 0;
  for (int i = 0; i < kLongDecode; ++i) {
    if (i >= kFewest && now_s() - began_s > options_.seconds) break;
    double kv = 0;
    int longest = 0;
    bool prompts = false;
    for (const Runner& runner : runners) {
      kv += runner.kv;
      longest = std::max(longest, runner.kv);
      prompts |= runner.kv == 0 || runner.state->prompt_rows() + runner.steps - runner.kv > 1;
    }
    if (longest + 1 >= std::min(ar_.max_positions, pages_each_ * KvPool::kPageRows)) break;
    if (std::any_of(runners.begin(), runners.end(), [](const Runner& r) { return r.ended; })) break;
    kv /= size;
    const double seconds = step(runners, ar_.max_positions);
    if (prompts && std::any_of(runners.begin(), runners.end(),
                               [](const Runner& r) { return r.state->prompt_rows() > 1; })) {
      continue;  // `prefill` has the costs of prompt rows
    }
    int bin = 0;
    while ((32 << bin) < kv) ++bin;
    by_length[bin].emplace_back(kv, seconds);
    if (++kept <= kMostRaw) raw_["decode"].push_back({size, kv, seconds});
  }
  DecodeCosts costs{size, {}, {}};
  for (const auto& [bin, points] : by_length) {
    if (points.size() < kFewest && by_length.size() > 1) continue;
    std::vector<double> lengths, times;
    for (const auto& [kv, seconds] : points) lengths.push_back(kv), times.push_back(seconds);
    costs.kv.push_back(percentiles(lengths).mean);
    costs.seconds.push_back(median(times));
  }
  SYRINX_CHECK(!costs.kv.empty(), "no decode step was measured");
  ar_profile().decode.push_back(costs);
  if (donors_.size() < runners.size()) donors_ = std::move(runners);
}

/// Measures parts of prompts without their last rows. Several requests contribute rows if needed.
void Measurement::prefill() {
  const int limit = prefill_rows();
  int longest = 0;
  std::vector<Runner> runners;
  for (int i = 0; i < most_; ++i) {
    runners.push_back(open(i, true));
    longest = std::max(longest, runners.back().state->prompt_rows());
  }
  if (longest <= 1) return;  // without these costs, prompt rows count like decode rows
  give_pages(runners, pages_each_);
  for (int rows = 1; rows <= limit; rows *= 2) {
    say(concat("prompts of ", rows, " rows"));
    std::vector<double> times;
    const double began_s = now_s();
    int ran = 0;
    for (int i = 0; i < 200 && (i < kFewest || now_s() - began_s < options_.seconds); ++i) {
      batch_.begin_step(pipeline_->graph().ar(), kv_, pages_each_);
      ran = 0;
      for (Runner& runner : runners) {
        const int part = std::min(runner.state->prompt_rows() - 1, rows - ran);
        if (part <= 0) continue;
        batch_.add({.state = runner.state.get(), .rows = part, .emits = false}, runner.pages);
        ran += part;
      }
      executor_->run(batch_);
      if (!batch_.fault.empty()) throw LoadError("a prompt failed: " + batch_.fault);
      times.push_back(batch_.ended_s - batch_.began_s);
    }
    if (ran == rows) ar_profile().prefill.emplace_back(rows, median(times));
  }
}

/// Runs one batch of chunks from the middle of streams; returns their outputs, one after another.
std::vector<float> Measurement::run_chunks(size_t link, int jobs, int frames, double& seconds) {
  const Link& of = links_[link];
  const size_t width = of.stage->in_width();
  const int window = of.policy.left + frames + of.policy.lookahead;
  std::vector<std::unique_ptr<StreamState>> streams;
  batch_.begin_chunks(*of.stage);
  for (int j = 0; j < jobs; ++j) {
    const Runner& donor = donors_[j % donors_.size()];
    streams.push_back(open_stream(*of.stage, *donor.state));
    // Frames are reused, because their values do not change the cost.
    const auto take = [&](const auto& from) {
      auto part = from;
      part.clear();
      const size_t have = from.size() / width;
      for (int f = 0; f < window; ++f) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(f % have * width);
        part.insert(part.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
      }
      Frames chunk;
      if constexpr (std::is_same_v<decltype(part), std::vector<float>>) {
        chunk.floats = part;
      } else {
        chunk.ints = part;
      }
      batch_.add(streams.back().get(), chunk, {of.policy.left, frames, of.policy.lookahead});
    };
    link == 0 ? take(donor.frames) : take(values_[j % values_.size()]);
  }
  batch_.seal_chunks();
  executor_->run(batch_);
  if (!batch_.fault.empty()) throw LoadError("a chunk failed: " + batch_.fault);
  seconds = batch_.ended_s - batch_.began_s;
  std::vector<float> out;
  for (const ChunkJob& job : batch_.jobs()) out.insert(out.end(), job.out.begin(), job.out.end());
  return out;
}

void Measurement::chunks(size_t link) {
  const std::vector<Link>& links = links_;
  const Link& of = links[link];
  LinkProfile profile;
  profile.name = of.name;
  profile.policy = of.policy;
  profile.jobs = batch_sizes(most_);
  double samples = 1;
  for (size_t i = links.size(); i-- > link;) {
    samples *= links[i].stage->most_out() * links[i].stage->out_width();
    if (i > link) samples /= links[i].stage->in_width();
  }
  profile.samples_per_frame = samples;
  for (const int frames :
       {of.policy.initial, of.policy.steady, 2 * of.policy.steady, most_frames(of.policy)}) {
    const int m = of.policy.multiple;
    profile.frames.push_back((frames + m - 1) / m * m);
  }
  std::sort(profile.frames.begin(), profile.frames.end());
  profile.frames.erase(std::unique(profile.frames.begin(), profile.frames.end()),
                       profile.frames.end());
  for (const int jobs : profile.jobs) {
    say(concat(of.name, ", ", jobs, " chunks"));
    profile.seconds.emplace_back();
    for (const int frames : profile.frames) {
      std::vector<double> times;
      const double began_s = now_s();
      for (int i = 0; i < 200; ++i) {
        if (i >= kFewest && now_s() - began_s > options_.seconds / 4) break;
        run_chunks(link, jobs, frames, times.emplace_back());
      }
      profile.seconds.back().push_back(median(times));
      raw_["chunks"].push_back({link, jobs, frames, profile.seconds.back().back()});
    }
  }
  profile_.links.push_back(profile);
  if (link + 1 == links.size()) return;
  double ignored = 0;
  values_ = {run_chunks(link, 1, most_frames(of.policy), ignored)};
}

/// Runs requests through an engine and compares the time of its batches with the stages alone.
void Measurement::in_engine() {
  batch_ = {};
  donors_.clear();
  std::string trace = "/tmp/syrinx-profile-XXXXXX";
  if (const char* dir = std::getenv("TMPDIR"); dir != nullptr && *dir) {
    trace = join_path(dir, "syrinx-profile-XXXXXX");
  }
  const int fd = mkstemp(trace.data());
  if (fd < 0) throw LoadError("cannot write " + trace);
  close(fd);
  struct Sample {
    double batches, members, overhead_s;
  };
  std::vector<Sample> samples;
  std::vector<double> first_audio;  // first audio of requests sent to an idle engine
  {
    EngineOptions engine_options = options_.load.engine;
    engine_options.trace_file = trace;
    engine_options.executors = Executors::kShared;
    engine_options.max_wait_s = 1e6;
    Engine engine(pipeline_, engine_options);
    for (size_t i = 0; i < kAlone; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      SpeechRequest request = options_.request;
      request.say.text = options_.texts[i % options_.texts.size()];
      const auto sink = std::make_shared<Collector>();
      if (!engine.submit(request, sink).ok()) continue;
      first_audio.push_back(sink->wait().first_audio_s);
    }
    for (const int streams : batch_sizes(std::max(2, most_ / 2))) {
      say(concat("an engine with ", streams, " streams"));
      const auto look = [&] {
        const EngineMetrics& metrics = engine.metrics();
        Sample now{0, 0, metrics.overhead_s.value()};
        for (const StageMetrics& stage : metrics.stages) {
          for (size_t b = 0; b <= stage.batch.bounds().size(); ++b) {
            now.batches += static_cast<double>(stage.batch.count(b));
          }
          now.members += stage.batch.sum();
        }
        return now;
      };
      const Sample before = look();
      const double end_s = now_s() + kEngine_s;
      std::vector<std::thread> clients;
      for (int i = 0; i < streams; ++i) {
        clients.emplace_back([&, i] {
          for (size_t n = i; n == static_cast<size_t>(i) || now_s() < end_s; ++n) {
            SpeechRequest request = options_.request;
            request.say.text = options_.texts[n % options_.texts.size()];
            request.sampling.seed = n;
            const auto sink = std::make_shared<Collector>();
            if (!engine.submit(request, sink).ok()) return;
            sink->wait();
          }
        });
      }
      for (std::thread& client : clients) client.join();
      const Sample after = look();
      samples.push_back({after.batches - before.batches, after.members - before.members,
                         after.overhead_s - before.overhead_s});
    }
  }
  const std::string text = read_file(trace, kMostTraceBytes);
  unlink(trace.c_str());
  compare(text);
  // overhead = batches * a + members * b; two loads give a and b.
  const Sample &one = samples.front(), &many = samples.back();
  const double determinant = one.batches * many.members - many.batches * one.members;
  double b = determinant != 0
                 ? (one.batches * many.overhead_s - many.batches * one.overhead_s) / determinant
                 : 0;
  b = std::clamp(b, 0.0, many.members > 0 ? many.overhead_s / many.members : 0.0);
  profile_.sequence_overhead_s = b;
  profile_.batch_overhead_s =
      many.batches > 0 ? std::max(0.0, (many.overhead_s - b * many.members) / many.batches) : 0;

  // The time to first audio minus the stages' time: the time to wake all threads.
  SimulationOptions simulation;
  simulation.noise = false;
  TrafficOptions traffic;
  traffic.repeats = static_cast<int>(first_audio.size());
  std::vector<double> expected;
  for (const RequestRecord& record :
       simulate(profile_, simulation, {LoadKind::kStreams, 1}, traffic).requests) {
    expected.push_back(record.first_audio_s.value_or(0));
  }
  if (!first_audio.empty()) {
    profile_.wake_s = std::max(0.0, median(first_audio) - median(expected));
  }
}

void Measurement::compare(const std::string& trace) {
  const nlohmann::json events = nlohmann::json::parse(trace, nullptr, false);
  const nlohmann::json* list = &events;
  if (events.is_object() && events.contains("traceEvents")) list = &events["traceEvents"];
  if (!list->is_array()) throw LoadError("the engine's trace cannot be read");
  Contention steps;
  std::vector<Contention> links(profile_.links.size());
  const double kv = typical_kv();
  for (const nlohmann::json& event : *list) {
    if (!event.is_object() || event.value("ph", "") != "X") continue;
    const std::string name = event.value("name", "");
    const int batch = event["args"].value("batch", 0), units = event["args"].value("units", 0);
    if (batch <= 0 || units <= 0) continue;
    const double seconds = event.value("dur", 0.0) / 1e6;
    if (name == "ar" && units == batch) {
      steps.add(batch, 1, seconds, ar_profile().step_s(batch, kv, 0));
    }
    for (size_t i = 0; i < links.size(); ++i) {
      if (name != profile_.links[i].name) continue;
      const double frames = static_cast<double>(units) / batch;
      links[i].add(batch, frames, seconds, profile_.chunks_s(i, batch, frames));
    }
  }
  ar_profile().spread = steps.spread();
  for (DecodeCosts& row : ar_profile().decode) {
    for (double& seconds : row.seconds) seconds *= steps.factor(row.batch, 1);
  }
  raw_["in_engine"] = nlohmann::json::array();
  steps.note("ar", raw_["in_engine"]);
  for (size_t i = 0; i < links.size(); ++i) {
    LinkProfile& link = profile_.links[i];
    link.spread = links[i].spread();
    for (size_t j = 0; j < link.jobs.size(); ++j) {
      for (size_t f = 0; f < link.frames.size(); ++f) {
        link.seconds[j][f] *= links[i].factor(link.jobs[j], link.frames[f]);
      }
    }
    links[i].note(link.name, raw_["in_engine"]);
  }
}

/// Returns the mean number of cached positions of a sequence while it decodes a text.
double Measurement::typical_kv() const {
  double sum = 0, steps = 0;
  for (const UtteranceProfile& utterance : profile_.utterances) {
    for (const SegmentProfile& segment : utterance.nodes.front()) {
      sum += segment.steps * (segment.prompt_rows + segment.steps / 2.0);
      steps += segment.steps;
    }
  }
  return steps > 0 ? sum / steps : 0;
}

}  // namespace

StepProfile measure_steps(const MeasureOptions& options) { return Measurement(options).run(); }

}  // namespace syrinx
