#include "server/http/agent_port.h"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/error.h"
#include "server/http/state_replies.h"
#include "server/models/server_load.h"
#include "server/net/asio.h"
#include "server/request/load_header.h"

namespace syrinx {
namespace {

/// A model that only reports how busy it is.
class BusyBackend : public Backend {
 public:
  explicit BusyBackend(EngineStats stats) : stats_(stats) { info_.model = "busy"; }
  const PipelineInfo& info() const override { return info_; }
  Result<RequestId> submit(const SpeechRequest&, std::shared_ptr<Sink>) override {
    return Error{ErrorCode::kInternal, "not here"};
  }
  void cancel(RequestId) override {}
  EngineStats stats() const override { return stats_; }
  const EngineMetrics* metrics() const override { return nullptr; }
  void append_text(RequestId, std::string, bool) override {}

 private:
  PipelineInfo info_;
  const EngineStats stats_;
};

EngineStats stats_of(int requests, double streams, double limit = 0) {
  EngineStats stats;
  stats.requests = requests;
  stats.running = requests;
  stats.capacity_streams = streams;
  stats.seats_limit = limit;
  return stats;
}

std::string answer_of(const EngineStats& stats) {
  const ModelTable models(std::make_shared<BusyBackend>(stats));
  return agent_answer(&models, false);
}

std::string ask_agent(int port, const std::string& first = "") {
  net::io_context io;
  net::ip::tcp::socket socket(io);
  socket.connect({net::ip::address_v4::loopback(), static_cast<uint16_t>(port)});
  if (!first.empty()) socket.send(net::buffer(first));
  std::string said;
  SystemError end;
  net::read(socket, net::dynamic_buffer(said), end);
  EXPECT_EQ(end.message(), "End of file");
  return said;
}

/// Asks the agent again until it answers `wanted`, for at most a second; returns the last answer.
std::string ask_agent_until(int port, const std::string& wanted) {
  std::string said;
  for (int i = 0; i < 100 && said != wanted; ++i) {
    said = ask_agent(port);
    if (said != wanted) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return said;
}

TEST(AgentAnswer, ReportsTheShareThatIsFree) {
  EXPECT_EQ(answer_of(stats_of(0, 40)), "up 100%\n");
  EXPECT_EQ(answer_of(stats_of(10, 40)), "up 75%\n");
  EXPECT_EQ(answer_of(stats_of(10, 40, 20)), "up 50%\n");  // the seats are the tighter limit
  EXPECT_EQ(answer_of(stats_of(10, 0)), "up 100%\n");      // the costs are not known yet
  // A full server does not report "down": if all servers are full, one must refuse the client.
  EXPECT_EQ(answer_of(stats_of(40, 40)), "up 1%\n");
  EXPECT_EQ(answer_of(stats_of(400, 40)), "up 1%\n");
}

/// New requests wait four times as long as on an idle server, although 15 % of the streams are
/// used.
TEST(AgentAnswer, FollowsTheSlowdownWhereThatSaysLess) {
  EngineStats stats = stats_of(6, 40);
  EXPECT_EQ(answer_of(stats), "up 85%\n");
  stats.slowdown = 4;
  EXPECT_EQ(answer_of(stats), "up 25%\n");
  stats.requests = 36;
  EXPECT_EQ(answer_of(stats), "up 10%\n");
  stats.slowdown = 1000;
  EXPECT_EQ(answer_of(stats), "up 1%\n");
}

TEST(AgentAnswer, ReportsThatNothingIsTaken) {
  const ModelTable models(std::make_shared<BusyBackend>(stats_of(0, 40)));
  EXPECT_EQ(agent_answer(nullptr, false), "down #loading\n");
  EXPECT_EQ(agent_answer(&models, true), "down #draining\n");
}

TEST(ServerLoad, IsThatOfTheFullestModel) {
  EngineStats stats = stats_of(30, 40);
  stats.running = 20;
  stats.pages = 100;
  stats.pages_free = 25;
  const ServerLoad load = load_of(ModelTable(std::make_shared<BusyBackend>(stats)));
  EXPECT_EQ(load.running, 20);
  EXPECT_EQ(load.waiting, 10);
  EXPECT_EQ(load.streams, 40);
  EXPECT_EQ(load.used, 0.75);
  EXPECT_EQ(load.cache_used, 0.75);
}

TEST(Health, ReportsSeatsThatAreHeldBack) {
  const ModelTable models(std::make_shared<BusyBackend>(stats_of(10, 40, 20)));
  ServerView server;
  server.models = &models;
  const auto health = nlohmann::json::parse(health_reply(server).body);
  EXPECT_EQ(health["engine"]["capacity_streams"], 40);
  EXPECT_EQ(health["engine"]["seats_limit"], 20);
}

TEST(LoadHeader, SpeaksOrca) {
  const ServerLoad load{.running = 3, .waiting = 1, .streams = 8, .used = 0.5, .cache_used = 0.25};
  const auto text = load_header("TEXT", load);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->first, "endpoint-load-metrics");
  EXPECT_EQ(text->second,
            "TEXT application_utilization=0.5, named_metrics.num_requests_running=3, "
            "named_metrics.num_requests_waiting=1, named_metrics.kv_cache_usage_perc=0.25, "
            "named_metrics.streams_capacity=8, named_metrics.predicted_wait_seconds=0, "
            "named_metrics.slowdown=1");
  const auto json = load_header("JSON", load);
  ASSERT_TRUE(json && json->second.starts_with("JSON "));
  const auto read = nlohmann::json::parse(json->second.substr(5));
  EXPECT_EQ(read["application_utilization"], 0.5);
  EXPECT_EQ(read["named_metrics"]["num_requests_waiting"], 1);
  EXPECT_FALSE(load_header("BIN", load));
  EXPECT_FALSE(load_header("", load));
}

TEST(AgentPort, FollowsTheServer) {
  AgentPort agent("127.0.0.1", 0);
  EXPECT_EQ(ask_agent(agent.port()), "down #loading\n");
  agent.open(std::make_shared<ModelTable>(std::make_shared<BusyBackend>(stats_of(10, 40))));
  EXPECT_EQ(ask_agent_until(agent.port(), "up 75%\n"), "up 75%\n");
  agent.drain();
  EXPECT_EQ(ask_agent_until(agent.port(), "down #draining\n"), "down #draining\n");
  EXPECT_THROW(AgentPort("127.0.0.1", agent.port()), LoadError);
  EXPECT_THROW(AgentPort("nowhere", 0), LoadError);
}

TEST(AgentPort, StrangersCostNothing) {
  AgentPort agent("127.0.0.1", 0);
  const uint16_t port = static_cast<uint16_t>(agent.port());
  net::io_context io;
  std::vector<net::ip::tcp::socket> strangers;
  for (int i = 0; i < 50; ++i) {  // peers that never read, never close, or send without end
    strangers.emplace_back(io);
    strangers.back().connect({net::ip::address_v4::loopback(), port});
  }
  SystemError ignored;
  const std::string flood(1 << 16, 'x');
  strangers[0].non_blocking(true, ignored);
  strangers[0].write_some(net::buffer(flood), ignored);
  EXPECT_EQ(ask_agent(port), "down #loading\n");
  EXPECT_EQ(ask_agent(port, "GET / HTTP/1.1\r\n\r\n"), "down #loading\n");
}

}  // namespace
}  // namespace syrinx
