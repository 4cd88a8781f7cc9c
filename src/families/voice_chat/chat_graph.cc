#include "families/voice_chat/chat_graph.h"

namespace syrinx {

Graph chat_graph(const Link& hearing, const char* name, const ArStage& lm,
                 std::span<const Link> behind, int64_t window) {
  const FrameType text{Flow::kText};
  Node writer{.name = name,
              .ar = &lm,
              .chunk = nullptr,
              .in = {text},
              .out = {text, behind.front().stage->in()}};
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  const int number = hearing.stage ? 1 : 0;
  if (hearing.stage) {
    writer.in.push_back(hearing.stage->out());
    nodes.push_back({.name = hearing.name, .chunk = hearing.stage, .in = {}, .out = {}});
    edges = {{.from = {kClient}, .to = {0}, .policy = hearing.policy},
             {.from = {0}, .to = {number, 1}}};
  }
  nodes.push_back(std::move(writer));
  edges.push_back({.from = {kClient}, .to = {number, 0}});
  edges.push_back({.from = {number, 0}, .to = {kClient}});
  Port from{number, 1};
  for (const Link& link : behind) {
    const auto to = static_cast<int>(nodes.size());
    nodes.push_back({.name = link.name, .chunk = link.stage, .in = {}, .out = {}});
    edges.push_back({.from = from, .to = {to}, .policy = link.policy});
    from = {to};
  }
  edges.back().window = window;
  edges.push_back({.from = from, .to = {kClient}});
  return {std::move(nodes), std::move(edges)};
}

}  // namespace syrinx
