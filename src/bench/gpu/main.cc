// Runs the engine on this machine's GPU with random weights of published shapes. Measures a decode
// step (and the time to read its bytes), a codec chunk, first audio when idle, and how many
// listeners can be served in real time. Needs no checkpoint and no network.
//   gpu_engine_bench OUT.json [SECONDS [MODEL ...]]
// MODEL is the name of a published shape (bench/gpu/published.h) or NAME=DIR, a folder with a
// config.json; all published shapes by default. SECONDS is the time for all models together,
// without loading. OUT.json is written again after each part of a model.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/gpu/published.h"
#include "bench/gpu/stepped.h"
#include "engine/engine.h"
#include "families/csm/config.h"
#include "families/csm/pipeline.h"
#include "families/higgs/config.h"
#include "families/higgs/pipeline.h"
#include "families/orpheus/config.h"
#include "families/orpheus/pipeline.h"
#include "families/qwen3_tts/config.h"
#include "families/qwen3_tts/pipeline.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

using nlohmann::json;

constexpr const char* kText =
    "The ferry leaves at seven in the morning, and the captain waits for nobody, not even for the "
    "mayor, who is always late on Mondays.";
constexpr int kPositions = 1024;  // positions of each sequence for timed steps
constexpr int kSizes[] = {1, 8, 32, 64};
constexpr double kStreamS = 10;       // seconds of audio of each concurrent stream
constexpr double kLateShare = 0.002;  // share of streams that may have an underrun
constexpr double kLeastSeconds = 10;  // seconds for a model; a shorter run only tests this code

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}
double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  if (values.empty()) return 0;
  return values[std::min(values.size() - 1, static_cast<size_t>(share * values.size()))];
}
double ms(double seconds) { return std::round(seconds * 1e6) / 1e3; }

std::shared_ptr<const Pipeline> load(const std::string& dir, const std::string& name) {
  const LoadSpec spec{dir, name, WeightType::kBF16, true, Device::kCuda};
  const Config config = Config::load(dir + "/config.json");
  if (qwen3_tts::claims(config)) return load_as<qwen3_tts::Qwen3Tts>(spec);
  if (csm::claims(config)) return load_as<csm::Csm>(spec);
  if (higgs::claims(config)) return load_as<higgs::Higgs>(spec);
  return load_as<orpheus::Orpheus>(spec);
}

/// Returns the bytes of weights that a decode step reads: all parts once, except tables and codec.
/// The layers of the depth transformer count once for every further code.
double step_bytes(const Pipeline& pipeline, const std::string& dir) {
  const Config config = Config::load(dir + "/config.json");
  double bytes = 0, again = 0;
  for (const PartInfo& part : pipeline.info().parts) {
    if (part.name != "tables" && part.name != "table" && part.name != "codec") {
      bytes += static_cast<double>(part.bytes);
    }
  }
  const auto layers = [](const DecoderConfig& d) {
    const double heads = double{static_cast<double>(d.head_dim)} * d.hidden;
    return 2.0 * d.layers * (heads * (2 * d.heads + 2 * d.kv_heads) + 3.0 * d.hidden * d.ffn);
  };
  if (qwen3_tts::claims(config)) again = layers(qwen3_tts::load_model_config(config).predictor);
  if (csm::claims(config)) again = layers(csm::load_model_config(config).depth);
  const auto inner = static_cast<double>(pipeline.graph().ar().traits().vocab.size()) - 2;
  return bytes + std::max(0.0, inner) * again;
}

/// Returns the bytes per second, read and written, of a copy within the GPU's memory.
double copy_rate(size_t bytes) {
  const Shape shape{static_cast<int64_t>(bytes)};
  const Tensor from(shape, DType::kU8, Device::kCuda), to(shape, DType::kU8, Device::kCuda);
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    const double began_s = now_s();
    device_copy(from, to);
    times.push_back(now_s() - began_s);
  }
  return 2.0 * static_cast<double>(bytes) / median(times);
}

/// Times steps and chunks of sequences that are stepped together without an engine.
class Steps {
 public:
  Steps(const Pipeline& pipeline, int most)
      : pipeline_(pipeline), stepped_(pipeline, most, kPositions) {}

  /// Measures the median time of a decode step of `size` sequences.
  json decode(int size, double seconds, double weights, double rate);
  /// Measures the median time of a batch with a chunk of each of `size` streams.
  json chunk(int size, double seconds);

 private:
  const Pipeline& pipeline_;
  Stepped stepped_;
};

json Steps::decode(int size, double seconds, double weights, double rate) {
  stepped_.open(kText, size);
  const double prompt_s = stepped_.step();
  for (int i = 0; i < 3; ++i) stepped_.step();
  std::vector<double> times;
  double positions = 0;
  int replayed = 0;
  const double began_s = now_s();
  while (times.size() < 200 && (times.size() < 5 || now_s() - began_s < seconds)) {
    const Stepped::Run& first = stepped_.run(0);
    if (stepped_.is_full()) break;
    const double took_s = stepped_.step();
    if (first.cached == 0 || first.steps < 2) continue;  // a step of prompt rows
    times.push_back(took_s);
    positions += first.cached;
    replayed += stepped_.batch().replayed;
  }
  const auto count = static_cast<double>(std::max<size_t>(times.size(), 1));
  positions /= count;
  const double bytes = weights + size * positions * stepped_.kv_bytes(), floor_s = bytes / rate;
  const double took_s = median(times);
  std::printf(
      "  decode, batch %3d: %8.3f ms, p95 %8.3f; memory reads alone %7.3f ms: %3.0f %%; %3.0f %% "
      "replayed\n",
      size, took_s * 1e3, percentile(times, 0.95) * 1e3, floor_s * 1e3, 100 * floor_s / took_s,
      100 * replayed / count);
  return {{"batch", size},
          {"ms", ms(took_s)},
          {"p95_ms", ms(percentile(times, 0.95))},
          {"floor_ms", ms(floor_s)},
          {"roofline_share", floor_s / took_s},
          {"positions", positions},
          {"replayed_share", replayed / count},
          {"prompt_ms", ms(prompt_s)},
          {"steps", times.size()}};
}

json Steps::chunk(int size, double seconds) {
  const Link link = pipeline_.graph().links()[0];
  const auto width = static_cast<size_t>(link.stage->in_width());
  const int window = link.policy.left + link.policy.steady + link.policy.lookahead;
  const std::vector<int32_t>& made = stepped_.run(0).frames;
  while (made.size() < width) stepped_.step();
  std::vector<int32_t> frames;
  for (int f = 0; f < window; ++f)
    frames.insert(frames.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(width));
  std::vector<std::unique_ptr<StreamState>> streams;
  for (int i = 0; i < size; ++i) {
    streams.push_back(open_stream(*link.stage, *stepped_.run(i % stepped_.size()).state));
  }
  Batch& batch = stepped_.batch();
  std::vector<double> times;
  const double began_s = now_s();
  while (times.size() < 50 && (times.size() < 4 || now_s() - began_s < seconds)) {
    batch.begin_chunks(*link.stage);
    for (auto& stream : streams) {
      batch.add(stream.get(), {.type = link.stage->in(), .ints = frames},
                {link.policy.left, link.policy.steady, link.policy.lookahead});
    }
    batch.seal_chunks();
    stepped_.executor().run(batch);
    if (!batch.fault.empty()) throw LoadError("a chunk failed: " + batch.fault);
    times.push_back(batch.ended_s - batch.began_s);
  }
  times.erase(times.begin());  // the first run warms up memory
  const double audio_s = link.policy.steady / pipeline_.info().speech.frame_rate;
  std::printf("  codec, %3d streams: %7.3f ms for %.0f ms of audio each\n", size,
              median(times) * 1e3, audio_s * 1e3);
  return {{"streams", size}, {"ms", ms(median(times))}, {"audio_ms", ms(audio_s)}};
}

class Waiter : public Sink {
 public:
  void audio(std::span<const float>) override {}
  void finished(const Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    outcome_ = outcome;
    done_ = true;
    changed_.notify_all();
  }
  const Outcome& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
    return outcome_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  Outcome outcome_;
};

SpeechRequest spoken(const Pipeline& pipeline, double audio_s, int number) {
  SpeechRequest request;
  request.say.text = kText;
  request.sampling.seed = static_cast<uint64_t>(number);
  request.terms.ignore_stop = true;
  request.terms.max_frames =
      std::max(1, static_cast<int>(audio_s * pipeline.info().speech.frame_rate));
  return request;
}

EngineOptions options_for(int streams) {
  EngineOptions options;
  options.threads = 2;  // one thread waits for steps, another for chunks
  options.max_batch = streams;
  options.max_requests = 2 * streams;
  options.max_wait_s = 1e9;
  options.repetition_s = 0;
  return options;
}

json first_audio(const std::shared_ptr<const Pipeline>& pipeline, double seconds) {
  Engine engine(pipeline, options_for(4));
  std::vector<double> times;
  const double began_s = now_s();
  for (int i = 0; i < 30 && (i < 3 || now_s() - began_s < seconds); ++i) {
    const auto sink = std::make_shared<Waiter>();
    const auto id = engine.submit(spoken(*pipeline, 1, i), sink);
    if (!id.ok()) throw LoadError(id.error().message);
    times.push_back(sink->wait().first_audio_s);
  }
  times.erase(times.begin());
  std::printf("  first audio, idle: %.2f ms, p95 %.2f\n", median(times) * 1e3,
              percentile(times, 0.95) * 1e3);
  return {{"ms", ms(median(times))}, {"p95_ms", ms(percentile(times, 0.95))}};
}

/// Measures `count` requests at once.
json together(const std::shared_ptr<const Pipeline>& pipeline, int count, double audio_s) {
  Engine engine(pipeline, options_for(count));
  std::vector<std::shared_ptr<Waiter>> sinks;
  const double began_s = now_s();
  for (int i = 0; i < count; ++i) {
    sinks.push_back(std::make_shared<Waiter>());
    const auto id = engine.submit(spoken(*pipeline, audio_s, i), sinks.back());
    if (!id.ok()) throw LoadError(id.error().message);
  }
  std::vector<double> first;
  double audio = 0;
  int dry = 0;
  for (const auto& sink : sinks) {
    const Outcome& outcome = sink->wait();
    if (outcome.reason == FinishReason::kError) throw LoadError(outcome.error.message);
    first.push_back(outcome.first_audio_s);
    audio += outcome.audio_s;
    dry += outcome.underruns > 0;
  }
  const double took_s = now_s() - began_s;
  std::printf("  %4d streams: first audio p95 %7.1f ms, %3d had gaps, %.1f s of audio a second\n",
              count, percentile(first, 0.95) * 1e3, dry, audio / took_s);
  return {{"streams", count},
          {"first_audio_p95_ms", ms(percentile(first, 0.95))},
          {"ran_dry", dry},
          {"audio_per_second", audio / took_s}};
}

/// Doubles the number of requests while all are served in real time and time is left.
json streams(const std::shared_ptr<const Pipeline>& pipeline, double seconds, double audio_s) {
  json runs = json::array();
  int most = 0;
  const double began_s = now_s();
  for (int count = 4; count <= 1024; count *= 2) {
    const double before_s = now_s();
    runs.push_back(together(pipeline, count, audio_s));
    if (runs.back()["ran_dry"].get<int>() > kLateShare * count) break;
    most = count;
    const double left_s = seconds - (now_s() - began_s);
    if (2 * (now_s() - before_s) > left_s) break;
  }
  return {{"all_in_time", most}, {"runs", runs}};
}

json served(const EngineMetrics& metrics, const std::vector<Outcome>& outcomes, double took_s) {
  std::vector<double> first;
  double audio = 0;
  int dry = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.reason == FinishReason::kError) throw LoadError(outcome.error.message);
    first.push_back(outcome.first_audio_s);
    audio += outcome.audio_s;
    dry += outcome.underruns > 0;
  }
  const auto count = static_cast<double>(std::max<size_t>(outcomes.size(), 1));
  return {{"requests", outcomes.size()},
          {"first_audio_p50_ms", ms(median(first))},
          {"first_audio_p95_ms", ms(percentile(first, 0.95))},
          {"underrun_share", dry / count},
          {"audio_per_second", audio / took_s},
          {"executors_busy", metrics.busy_s.value() / took_s},
          {"engine_thread_busy", metrics.overhead_s.value() / took_s}};
}

void print(const char* what, const json& run) {
  std::printf(
      "  %s: %d requests, first audio p50 %.1f ms, p95 %.1f, underruns %.1f %%, %.1f s of audio a "
      "second, executors busy %.0f %%\n",
      what, run["requests"].get<int>(), run["first_audio_p50_ms"].get<double>(),
      run["first_audio_p95_ms"].get<double>(), 100 * run["underrun_share"].get<double>(),
      run["audio_per_second"].get<double>(), 100 * run["executors_busy"].get<double>());
}

/// Measures requests of `audio_s` seconds with Poisson arrivals, `rate` per second.
json arrivals(const std::shared_ptr<const Pipeline>& pipeline, double rate, double seconds,
              double audio_s) {
  Engine engine(pipeline, options_for(256));
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gap(rate);
  std::vector<std::shared_ptr<Waiter>> sinks;
  const double began_s = now_s();
  double due_s = began_s;
  while (now_s() - began_s < seconds) {
    if (now_s() < due_s) {
      std::this_thread::sleep_for(std::chrono::duration<double>(due_s - now_s()));
    }
    due_s += gap(random);
    sinks.push_back(std::make_shared<Waiter>());
    const auto id =
        engine.submit(spoken(*pipeline, audio_s, static_cast<int>(sinks.size())), sinks.back());
    if (!id.ok()) throw LoadError(id.error().message);
  }
  std::vector<Outcome> outcomes;
  for (const auto& sink : sinks) outcomes.push_back(sink->wait());
  json run = served(engine.metrics(), outcomes, now_s() - began_s);
  run["requests_per_second"] = rate;
  print("arrivals", run);
  return run;
}

/// Measures `clients` clients. Each sends its next request when its last request has ended.
json closed_loop(const std::shared_ptr<const Pipeline>& pipeline, int clients, double seconds,
                 double audio_s) {
  Engine engine(pipeline, options_for(clients));
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  std::vector<std::thread> threads;
  const double began_s = now_s();
  for (int c = 0; c < clients; ++c) {
    threads.emplace_back([&, c] {
      for (int i = 0; now_s() - began_s < seconds; ++i) {
        const auto sink = std::make_shared<Waiter>();
        if (!engine.submit(spoken(*pipeline, audio_s, c + i * clients), sink).ok()) return;
        const Outcome outcome = sink->wait();
        const std::lock_guard lock(mutex);
        outcomes.push_back(outcome);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  json run = served(engine.metrics(), outcomes, now_s() - began_s);
  run["clients"] = clients;
  print("closed loop", run);
  return run;
}

/// Measures a model. Fills `out` part by part, and calls `keep` after each part to write the file.
void measure(json& out, const std::string& name, const std::string& dir, double seconds,
             double rate, const std::function<void()>& keep) {
  std::printf("%s\n", name.c_str());
  const double began_s = now_s();
  const std::shared_ptr<const Pipeline> pipeline = load(dir, name);
  const double loaded_s = now_s() - began_s, weights = step_bytes(*pipeline, dir);
  std::printf("  loaded in %.1f s; a step reads %.2f GB of weights\n", loaded_s, weights / 1e9);
  out["load_s"] = loaded_s;
  out["weight_bytes_a_step"] = weights;
  const bool whole = seconds >= kLeastSeconds;
  {
    Steps steps(*pipeline, whole ? kSizes[3] : kSizes[1]);
    for (const int size : kSizes) {
      if (!whole && size > kSizes[1]) continue;
      out["decode"].push_back(steps.decode(size, seconds / 20, weights, rate));
    }
    for (const int size : {1, 8, 32, 64}) {
      if (!whole && size > 1) continue;
      out["codec"].push_back(steps.chunk(size, seconds / 40));
    }
  }
  keep();
  out["first_audio_idle"] = first_audio(pipeline, seconds / 10);
  keep();
  const double audio_s = whole ? kStreamS / 2 : 0.5;
  out["arrivals"] = arrivals(pipeline, whole ? 20 : 2, seconds / 5, audio_s);
  keep();
  out["closed_loop"] = closed_loop(pipeline, whole ? 64 : 2, seconds / 5, audio_s);
  keep();
  out["concurrent"] = streams(pipeline, seconds / 4, whole ? kStreamS : 0.5);
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gpu_engine_bench OUT.json [SECONDS [NAME=DIR ...]]\n");
    return 2;
  }
  if (const std::string why = device_missing(Device::kCuda); !why.empty()) {
    std::fprintf(stderr, "gpu_engine_bench: %s\n", why.c_str());
    return 2;
  }
  std::vector<std::pair<std::string, std::string>> models;
  const std::filesystem::path made =
      std::filesystem::temp_directory_path() / ("gpu_engine_bench." + std::to_string(getpid()));
  const auto add_published = [&](const std::string& name) {
    for (const PublishedModel& model : kPublished) {
      if (!name.empty() && name != model.name) continue;
      std::filesystem::create_directories(made / model.name);
      std::ofstream(made / model.name / "config.json") << model.config;
      models.emplace_back(model.name, (made / model.name).string());
    }
  };
  for (int i = 3; i < argc; ++i) {
    const std::string item = argv[i];
    const size_t at = item.find('='), before = models.size();
    if (at != std::string::npos) {
      models.emplace_back(item.substr(0, at), item.substr(at + 1));
    } else if (add_published(item); models.size() == before) {
      std::string names;
      for (const PublishedModel& known : kPublished) names += std::string(" ") + known.name;
      throw LoadError("unknown model '" + item + "': expected NAME=DIR or one of" + names);
    }
  }
  if (models.empty()) add_published("");
  const double seconds = (argc > 2 ? std::atof(argv[2]) : 160) / static_cast<double>(models.size());
  json out = {{"models", json::array()}};
  bool failed = false;
  const double rate = copy_rate(seconds < kLeastSeconds ? 1 << 20 : size_t{1} << 30);
  out["copy_bytes_per_s"] = rate;
  std::printf("copies %.2f TB/s\n", rate / 1e12);
  const auto keep = [&] { std::ofstream(argv[1]) << out.dump(1) << "\n"; };
  for (const auto& [name, dir] : models) {
    out["models"].push_back({{"name", name}});
    json& model = out["models"].back();
    try {
      measure(model, name, dir, seconds, rate, keep);
    } catch (const std::exception& fault) {  // continues with the other models
      failed = true;
      std::printf("  failed: %s\n", fault.what());
      model["failed"] = fault.what();
    }
    std::fflush(stdout);
    keep();
  }
  std::error_code ignored;
  std::filesystem::remove_all(made, ignored);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  try {
    return syrinx::run(argc, argv);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "gpu_engine_bench: %s\n", fault.what());
    return 1;
  }
}
