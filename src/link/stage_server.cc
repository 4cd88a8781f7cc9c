#include "link/stage_server.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fault.h"
#include "link/served_steps.h"
#include "model/stage_runner.h"

namespace syrinx {
namespace {

constexpr double kForever_s = 1e9;
constexpr double kStuck_s = 30;  // a server that reads no answer for this time is disconnected
// Most values in the output of a batch.
constexpr size_t kMostValues = kMostMessage / 2 / sizeof(float);

/// A stream that a server opened. After a failure, each later chunk is answered with the fault.
struct ServedStream {
  const ChunkStage* stage = nullptr;
  std::unique_ptr<StreamState> state;
  std::string fault;
  int64_t at = 0;
};

bool takes_codes(const ChunkStage& stage) {
  return stage.in().flow == Flow::kCodes || stage.in().flow == Flow::kIds;
}

/// Runs batches one at a time.
class Runner {
 public:
  explicit Runner(int threads) : runner_(threads) {}

  /// Runs chunks; any exception of the stage becomes the fault of all jobs.
  void run(const ChunkStage& stage, std::span<ChunkJob> jobs) {
    const std::lock_guard lock(mutex_);
    const std::optional<std::string> fault = fault_of([&] { runner_.run(stage, jobs); });
    if (!fault) return;
    for (ChunkJob& job : jobs) job.fault = Error{ErrorCode::kInternal, *fault};
  }
  /// Runs a step; throws any exception of the stage.
  void run(const ArStage& stage, const Step& step, StepResults& out) {
    const std::lock_guard lock(mutex_);
    runner_.run(stage, step, out);
  }

 private:
  std::mutex mutex_;
  StageRunner runner_;
};

}  // namespace

struct StageServer::Impl {
  Impl(std::shared_ptr<const Pipeline> p, StageServerOptions o)
      : pipeline(std::move(p)),
        options(std::move(o)),
        listener(listen_at(options.address, options.keys)),
        runner(options.threads) {
    for (const NodeShape& shape : options.me.nodes) {
      const auto nodes = pipeline->graph().nodes();
      (void)shape_of(pipeline->graph(), shape.name);  // throws if the node must run locally
      const auto found = std::find_if(nodes.begin(), nodes.end(),
                                      [&](const Node& node) { return node.name == shape.name; });
      held[shape.name] = static_cast<int>(found - nodes.begin());
    }
    acceptor = std::thread([this] { accept_all(); });
  }
  ~Impl() {
    stopping = true;
    wake.set(), news.set();
    acceptor.join();
    for (std::thread& thread : threads) thread.join();
  }

  class Connection;
  void accept_all();
  void serve(Connected caller);
  void say(const std::string& line) const {
    if (options.log) options.log(line);
  }

  const std::shared_ptr<const Pipeline> pipeline;
  const StageServerOptions options;
  const std::unique_ptr<StageListener> listener;
  Runner runner;
  std::map<std::string, int> held;  // held nodes: name and number in the graph
  WakeUp wake;                      // set once, to end all connections
  WakeUp news;                      // set once, by leave() or to end all connections
  std::atomic<bool> leaving{false}, stopping{false};
  std::atomic<int> servers{0}, streams{0};
  std::atomic<uint64_t> batches{0}, refused{0};
  std::list<std::thread> threads;  // threads of connections; joined after their connection's end
  std::mutex ended_mutex;
  std::vector<std::thread::id> ended;
  std::thread acceptor;
};

/// The connection of one server, on its own thread.
class StageServer::Impl::Connection {
 public:
  Connection(Impl& of, Connected caller)
      : of_(of),
        socket_(std::move(caller)),
        steps_(*of.pipeline, of.options.most_kv_bytes,
               [&of](const ArStage& stage, const Step& step, StepResults& out) {
                 of.runner.run(stage, step, out);
               }) {}
  ~Connection() { of_.streams -= static_cast<int>(streams_.size() + steps_.count()); }

  /// Serves the connection; throws LoadError at its end.
  void run() {
    greet();
    for (bool announced = false; !of_.stopping;) {
      if (of_.leaving && !std::exchange(announced, true)) announce_end();
      const std::optional<Message> message =
          socket_.wait_for(kForever_s, kMostMessage, announced ? of_.wake : of_.news);
      if (message) take(*message);
    }
  }

 private:
  void greet();
  void announce_end();
  void take(const Message& message);
  void open(const OpenMessage& message);
  void push(const PushMessage& message);
  void step(const StepMessage& message);
  int node_of(uint16_t number) const;
  int step_node(uint16_t number) const;
  const ChunkStage& chunk_stage(uint16_t number) const;
  std::string check(const ChunkStage& stage, const ServedStream& stream,
                    const PushedJob& pushed) const;

  Impl& of_;
  MessageSocket socket_;
  std::vector<int> nodes_;  // numbers in the graph of the server's nodes
  std::map<uint64_t, ServedStream> streams_;
  ServedSteps steps_;
  // Arrays of a batch; kept to reuse their memory.
  std::vector<int32_t> codes_;
  std::vector<float> values_, made_;
};

void StageServer::Impl::Connection::greet() {
  const double patience_s = of_.options.greeting_s;
  const std::optional<Message> hello = socket_.wait_for(patience_s, kMostGreeting, of_.wake);
  if (!hello || hello->kind != MessageKind::kHello)
    throw LoadError("the first message is not a greeting");
  std::string why;
  Introduction wanted;
  try {
    wanted = read_introduction(hello->body);
    why = of_.leaving ? "the process is about to end" : mismatch(wanted, of_.options.me);
  } catch (const LoadError& e) {
    why = e.what();
  }
  if (!why.empty()) {
    ++of_.refused;
    std::string refusal;
    append_refuse(refusal, why);
    socket_.send(std::move(refusal), patience_s, of_.wake);
    throw LoadError("refused: " + why);
  }
  for (const NodeShape& node : wanted.nodes) nodes_.push_back(of_.held.at(node.name));
  std::string welcome;
  append_welcome(welcome, of_.options.me);
  socket_.send(std::move(welcome), patience_s, of_.wake);
}

void StageServer::Impl::Connection::announce_end() {
  std::string bytes;
  append_leaving(bytes);
  socket_.send(std::move(bytes), kStuck_s, of_.wake);
}

void StageServer::Impl::Connection::take(const Message& message) {
  switch (message.kind) {
    case MessageKind::kOpen:
      return open(read_open(message.body));
    case MessageKind::kPush:
      return push(read_push(message.body));
    case MessageKind::kCache: {
      const CacheMessage cache = read_cache(message.body);
      return steps_.make_cache(step_node(cache.node), cache.pages);
    }
    case MessageKind::kCall:
      return steps_.call(read_call(message.body));
    case MessageKind::kStep:
      return step(read_step(message.body));
    case MessageKind::kClose: {
      // Ignores an unknown stream, which was never opened.
      const uint64_t stream = read_close(message.body);
      of_.streams -= static_cast<int>(streams_.erase(stream)) + (steps_.close(stream) ? 1 : 0);
      return;
    }
    default:
      throw LoadError("a message has a kind that servers do not send");
  }
}

int StageServer::Impl::Connection::node_of(uint16_t number) const {
  if (number >= nodes_.size()) throw LoadError("a message names a node that was not requested");
  return nodes_[number];
}

const ChunkStage& StageServer::Impl::Connection::chunk_stage(uint16_t number) const {
  const ChunkStage* stage = of_.pipeline->graph().node(node_of(number)).chunk;
  if (!stage) throw LoadError("a message has chunks for an AR node");
  return *stage;
}

int StageServer::Impl::Connection::step_node(uint16_t number) const {
  const int node = node_of(number);
  if (!of_.pipeline->graph().node(node).ar)
    throw LoadError("a message has steps for a node that is not an AR node");
  return node;
}

void StageServer::Impl::Connection::open(const OpenMessage& message) {
  const int node = node_of(message.node);
  if (streams_.size() + steps_.count() >= of_.options.max_streams) {
    throw LoadError(concat("more than ", of_.options.max_streams, " streams are open"));
  }
  if (of_.pipeline->graph().node(node).ar) {
    steps_.open(message.stream, node, message.bundle);
    ++of_.streams;
    return;
  }
  ServedStream stream;
  stream.stage = &chunk_stage(message.node);
  try {
    stream.state = stream.stage->open(Bundle::parse(message.bundle));
  } catch (const std::exception& e) {
    stream.fault = e.what();
  }
  if (!streams_.emplace(message.stream, std::move(stream)).second) {
    throw LoadError("a stream is opened twice");
  }
  ++of_.streams;
}

/// Returns why a chunk cannot run; an empty string if it can.
std::string StageServer::Impl::Connection::check(const ChunkStage& stage,
                                                 const ServedStream& stream,
                                                 const PushedJob& pushed) const {
  if (!stream.fault.empty()) return stream.fault;
  if (stream.stage != &stage) return "the chunk belongs to another node's stream";
  if (pushed.at != stream.at) {
    return concat("the chunk begins at frame ", pushed.at, ", expected ", stream.at);
  }
  const uint64_t frames = uint64_t{pushed.left} + pushed.fresh + pushed.ahead;
  if (pushed.window.size() != frames * static_cast<uint64_t>(stage.in_width()) * 4) {
    return concat("the chunk has ", pushed.window.size(), " bytes, which do not fit ", frames,
                  " frames");
  }
  if (pushed.fresh == 0) return "the chunk has no new frames";
  if (pushed.left > pushed.at)
    return concat("the chunk repeats ", pushed.left, " frames, but only ", pushed.at,
                  " came before");
  return {};
}

void StageServer::Impl::Connection::push(const PushMessage& message) {
  const ChunkStage& stage = chunk_stage(message.node);
  const auto out =
      static_cast<uint64_t>(stage.most_out()) * static_cast<uint64_t>(stage.out_width());
  MadeMessage answer{.batch = message.batch, .jobs = std::vector<MadeJob>(message.jobs.size())};
  std::vector<ChunkJob> jobs;
  std::vector<size_t> places;  // for each job that runs, its index in the push
  uint64_t in_values = 0, out_values = 0;
  for (size_t i = 0; i < message.jobs.size(); ++i) {
    const PushedJob& pushed = message.jobs[i];
    const auto found = streams_.find(pushed.stream);
    if (found == streams_.end()) throw LoadError("a chunk names a stream that was not opened");
    const bool twice = std::any_of(jobs.begin(), jobs.end(), [&](const ChunkJob& job) {
      return job.state == found->second.state.get();
    });
    std::string why =
        twice ? "the batch has two chunks of this stream" : check(stage, found->second, pushed);
    out_values += why.empty() ? pushed.fresh * out : 0;
    if (why.empty() && out_values > kMostValues)
      throw LoadError("the output of a batch is too large");
    if (!why.empty()) {
      answer.jobs[i].fault = std::move(why);
      continue;
    }
    in_values += pushed.window.size() / 4;
    jobs.push_back({.state = found->second.state.get(),
                    .codes = {},
                    .values = {},
                    .left = static_cast<int>(pushed.left),
                    .fresh = static_cast<int>(pushed.fresh),
                    .ahead = static_cast<int>(pushed.ahead),
                    .last = pushed.last,
                    .out = {},
                    .made = static_cast<int>(pushed.fresh) * stage.most_out()});
    places.push_back(i);
    found->second.at += pushed.fresh;
  }
  codes_.resize(takes_codes(stage) ? in_values : 0);
  values_.resize(takes_codes(stage) ? 0 : in_values);
  made_.resize(out_values);
  size_t from = 0, to = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::string_view window = message.jobs[places[i]].window;
    const size_t count = window.size() / 4;
    if (takes_codes(stage)) {
      std::memcpy(codes_.data() + from, window.data(), window.size());
      jobs[i].codes = std::span<const int32_t>(codes_).subspan(from, count);
    } else {
      std::memcpy(values_.data() + from, window.data(), window.size());
      jobs[i].values = std::span<const float>(values_).subspan(from, count);
    }
    jobs[i].out = std::span(made_).subspan(to, static_cast<uint64_t>(jobs[i].fresh) * out);
    from += count, to += jobs[i].out.size();
  }
  if (!jobs.empty()) of_.runner.run(stage, jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    MadeJob& made = answer.jobs[places[i]];
    if (jobs[i].fault) {
      made.fault = jobs[i].fault->message;
      streams_.at(message.jobs[places[i]].stream).fault = *made.fault;  // the stream has failed
      continue;
    }
    made.made = static_cast<uint32_t>(jobs[i].made);
    const std::span<const float> values =
        jobs[i].out.first(static_cast<size_t>(jobs[i].made) * stage.out_width());
    made.values = {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
  }
  ++of_.batches;
  std::string bytes;
  append_made(bytes, answer);
  socket_.send(std::move(bytes), kStuck_s, of_.wake);
}

void StageServer::Impl::Connection::step(const StepMessage& message) {
  const SteppedMessage answer = steps_.step(step_node(message.node), message);
  ++of_.batches;
  std::string bytes;
  append_stepped(bytes, answer);
  socket_.send(std::move(bytes), kStuck_s, of_.wake);
}

// ---------------------------------------------------------------------------- connections

void StageServer::Impl::serve(Connected caller) {
  try {
    Connection connection(*this, std::move(caller));
    connection.run();
  } catch (const std::exception& e) {
    if (!stopping) say(std::string("a server has disconnected: ") + e.what());
  }
  --servers;
  const std::lock_guard lock(ended_mutex);
  ended.push_back(std::this_thread::get_id());
}

void StageServer::Impl::accept_all() {
  while (!stopping) {
    std::array<pollfd, 2> polled{{{listener->get(), POLLIN, 0}, {wake.get(), POLLIN, 0}}};
    poll(polled.data(), polled.size(), -1);
    if (stopping) return;
    {
      const std::lock_guard lock(ended_mutex);
      for (const std::thread::id id : ended) {
        const auto thread = std::find_if(threads.begin(), threads.end(),
                                         [&](const std::thread& t) { return t.get_id() == id; });
        thread->join();
        threads.erase(thread);
      }
      ended.clear();
    }
    Connected caller = listener->accept();
    if (!caller.fd) continue;
    if (servers >= options.max_servers) {
      ++refused;
      say(concat("refused a server: ", servers, " are connected already, which is the limit"));
      continue;
    }
    ++servers;
    threads.emplace_back([this, next = std::move(caller)]() mutable { serve(std::move(next)); });
  }
}

StageServer::StageServer(std::shared_ptr<const Pipeline> pipeline, StageServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(pipeline), std::move(options))) {}
StageServer::~StageServer() = default;

void StageServer::leave() {
  impl_->leaving = true;
  impl_->news.set();
}

StageServerState StageServer::state() const {
  return {impl_->servers, impl_->streams, impl_->batches, impl_->refused};
}

std::string StageServer::address() const { return impl_->listener->address(); }

}  // namespace syrinx
