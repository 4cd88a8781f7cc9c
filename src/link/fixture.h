// For tests of links: both ends in one process, with the toy model.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fuzzing.h"
#include "io/test_dir.h"
#include "link/remote_stage.h"
#include "link/stage_server.h"
#include "link/transport.h"
#include "model/toy/toy.h"
#include "tensor/context.h"

namespace syrinx {

inline constexpr double kPatience_s = 60;  // long, because the test machine may be busy

inline Introduction introduction(std::vector<NodeShape> nodes) {
  return {"1", "any", "toy", std::move(nodes)};
}

/// A process that holds the stages of the toy model.
struct Worker {
  explicit Worker(
      const std::string& address,
      const std::function<void(StageServerOptions&)>& change = [](StageServerOptions&) {})
      : model(make_toy_pipeline()) {
    StageServerOptions options{.address = address,
                               .me = introduction({shape_of(model->graph(), "features"),
                                                   shape_of(model->graph(), "vocoder")}),
                               .threads = 1,
                               .log = [this](const std::string& line) {
                                 const std::lock_guard lock(mutex);
                                 lines.push_back(line);
                               }};
    change(options);
    server.emplace(model, options);
  }
  std::shared_ptr<const Pipeline> model;
  std::mutex mutex;
  std::vector<std::string> lines;
  std::optional<StageServer> server;
};

inline std::shared_ptr<const Pipeline> placed_toy(
    const std::vector<Placement>& placements,
    const std::function<void(LinkOptions&)>& change = [](LinkOptions&) {}) {
  LinkOptions options{.address = {}, .wanted = introduction({}), .longest_pause_s = 0.05};
  change(options);
  return place_stages(make_toy_pipeline(), placements, options);
}

inline std::shared_ptr<const Pipeline> placed_toy(
    const std::string& address, const std::vector<std::string>& nodes,
    const std::function<void(LinkOptions&)>& change = [](LinkOptions&) {}) {
  std::vector<Placement> placements;
  for (const std::string& node : nodes) placements.push_back({node, address});
  return placed_toy(placements, change);
}

inline const RemoteStage& remote(const Pipeline& placed, const std::string& node) {
  for (const Node& n : placed.graph().nodes()) {
    if (n.name == node) return dynamic_cast<const RemoteStage&>(*n.chunk);
  }
  throw InternalError("no such node");
}

inline StageLink& link_of(const Pipeline& placed, const std::string& node, size_t copy = 0) {
  return *remote(placed, node).copies()[copy].link;
}

inline bool wait_for(const std::function<bool()>& done) {
  const double until_s = now_s() + kPatience_s;
  while (!done()) {
    if (now_s() > until_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Streams of a chunk node of the toy model. The feature node takes fixed codes, the vocoder fixed
/// rows.
class Streams {
 public:
  enum Which { kFeatures = 1, kVocoder = 2 };
  explicit Streams(const Pipeline& model, Which which = kFeatures)
      : model_(model), which_(which), work_(pool_, Device::kCpu) {
    SpeechRequest request;
    request.say.text = "hello";
    opened_ = model.open(request).take();
  }
  std::unique_ptr<StreamState> open() const { return open_stream(stage(), opened_.sequence()); }
  const ChunkStage& stage() const { return *model_.graph().nodes()[which_].chunk; }

  struct Part {
    StreamState* state = nullptr;
    int from = 0, frames = 0;
    uint32_t seed = 0;  ///< determines the stream's codes
    std::vector<int32_t> codes = {};
    std::vector<float> values = {};
    std::vector<float> made = {};
    std::optional<Error> fault = {};
  };
  /// Runs a chunk of each stream, in one batch. For codes, each window has up to two frames before
  /// the fresh frames and one frame after them.
  void run(std::vector<Part>& parts) {
    std::vector<ChunkJob> jobs;
    for (Part& part : parts) {
      const bool codes = which_ == kFeatures;
      const int left = codes ? std::min(part.from, 2) : 0, ahead = codes ? 1 : 0;
      for (int t = part.from - left; t < part.from + part.frames + ahead; ++t) {
        for (int c = 0; c < stage().in_width(); ++c) {
          const auto code = static_cast<int32_t>((part.seed + 7u * t + 3u * c) % 64);
          if (codes) part.codes.push_back(code);
          if (!codes) part.values.push_back(static_cast<float>(code) / 64);
        }
      }
      part.made.assign(static_cast<size_t>(part.frames) * stage().out_width(), -1.f);
      jobs.push_back({.state = part.state,
                      .codes = part.codes,
                      .values = part.values,
                      .left = left,
                      .fresh = part.frames,
                      .ahead = ahead,
                      .last = false,
                      .out = part.made,
                      .made = part.frames});
    }
    work_.reset();
    stage().run(work_.context(), jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      parts[i].fault = jobs[i].fault;
      EXPECT_EQ(jobs[i].made, jobs[i].fault ? 0 : parts[i].frames);
    }
  }
  std::optional<Error> run_one(StreamState& state, int from, int frames) {
    std::vector<Part> parts{{&state, from, frames}};
    run(parts);
    return parts[0].fault;
  }

 private:
  const Pipeline& model_;
  const Which which_;
  Opened opened_;
  ThreadPool pool_{1};
  Workspace work_;
};

/// Carries bytes between a server and the process that holds its stages. Simulates a bad network.
class BadNetwork {
 public:
  BadNetwork(const std::string& from, const std::string& to) : listener_(from) {
    thread_ = std::thread([this, to] { carry(to); });
  }
  ~BadNetwork() {
    ends_ = true;
    thread_.join();
  }
  BadNetwork(const BadNetwork&) = delete;
  BadNetwork& operator=(const BadNetwork&) = delete;
  /// After this call, drops all bytes, and does not close one side when the other side closes.
  void swallow() { swallows_ = true; }
  /// After this call, carries at most `bytes` bytes at a time, with a pause after each piece.
  void slow_down(size_t bytes, std::chrono::microseconds pause) {
    pause_us_ = pause.count();
    most_ = bytes;
  }

 private:
  void carry(const std::string& to) {
    struct Way {
      Descriptor a, b;
    };
    std::vector<Way> ways;
    while (!ends_) {
      if (Descriptor caller = listener_.accept())
        ways.push_back({std::move(caller), connect_to(to)});
      bool idle = true;
      for (Way& way : ways) {
        for (const auto& [from, into] : {std::pair(&way.a, &way.b), std::pair(&way.b, &way.a)}) {
          char bytes[4096];
          if (!*from || !*into) continue;
          const ssize_t got = read(from->get(), bytes, std::min(sizeof bytes, most_.load()));
          if (got < 0) continue;
          if (got == 0 && !swallows_) way.a.reset(), way.b.reset();
          if (got <= 0) continue;
          idle = false;
          for (ssize_t at = 0; at < got && !swallows_ && !ends_;) {
            const ssize_t put = write(into->get(), bytes + at, static_cast<size_t>(got - at));
            if (put > 0) at += put;
          }
          std::this_thread::sleep_for(std::chrono::microseconds(pause_us_));
        }
      }
      if (idle) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  ListeningSocket listener_;
  std::atomic<bool> ends_{false}, swallows_{false};
  std::atomic<size_t> most_{4096};
  std::atomic<int64_t> pause_us_{0};
  std::thread thread_;
};

class LinkTest : public testing::Test {
 protected:
  std::string path() const { return dir_.path("stages.sock"); }
  TestDir dir_;
};

/// A server's end of a link. The test writes its messages, without a StageLink.
class Caller {
 public:
  explicit Caller(const std::string& address, const StageKeys& keys = {})
      : socket_(connect_at(address, keys, kPatience_s)) {}
  void send(const std::string& bytes) { socket_.send(bytes, kPatience_s, never_); }
  std::optional<Message> next() { return socket_.wait_for(kPatience_s, kMostMessage, never_); }
  void greet(const std::vector<std::string>& nodes = {"features"}) {
    std::string hello;
    std::vector<NodeShape> shapes;
    for (const std::string& node : nodes)
      shapes.push_back(shape_of(make_toy_pipeline()->graph(), node));
    append_hello(hello, introduction(shapes));
    send(hello);
    const std::optional<Message> answer = next();
    ASSERT_TRUE(answer && answer->kind == MessageKind::kWelcome);
  }
  /// Opens a stream of the toy model's node "features".
  void open(uint64_t stream) {
    Bundle bundle;
    bundle.set("breaks cut", UINT64_MAX);
    bundle.set("breaks run", UINT64_MAX);
    std::string bytes, message;
    bundle.append_to(bytes);
    append_open(message, {stream, 0, bytes});
    send(message);
  }
  /// Sends a push and returns the fault of each job in the answer, or "none" for a job without a
  /// fault.
  std::vector<std::string> push(const PushMessage& message) {
    std::string bytes;
    append_push(bytes, message);
    send(bytes);
    const std::optional<Message> answer = next();
    std::vector<std::string> faults;
    if (!answer) return faults;
    for (const MadeJob& job : read_made(answer->body).jobs)
      faults.push_back(job.fault.value_or("none"));
    return faults;
  }
  bool dropped() {
    try {
      while (next()) {
      }
    } catch (const LoadError&) {
      return true;
    }
    return false;
  }

 private:
  MessageSocket socket_;
  WakeUp never_;
};

}  // namespace syrinx
