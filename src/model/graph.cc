#include "model/graph.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx {

const char* flow_name(Flow flow) {
  switch (flow) {
    case Flow::kText:
      return "text";
    case Flow::kIds:
      return "ids";
    case Flow::kCodes:
      return "codes";
    case Flow::kRows:
      return "rows";
    case Flow::kSamples:
      return "samples";
  }
  return "unknown";
}

namespace {

std::string type_name(const FrameType& type) {
  return concat(flow_name(type.flow), "[", type.width, "]");
}

}  // namespace

std::string Graph::name_of(const Edge& edge) const {
  const auto end = [this](const Port& port) {
    const bool known = port.node >= 0 && port.node < static_cast<int>(nodes_.size());
    return port.node == kClient ? std::string("client")
           : known              ? concat(nodes_[port.node].name, ".", port.port)
                                : concat("node ", port.node);
  };
  return "the edge " + end(edge.from) + " -> " + end(edge.to);
}

void Graph::check_edge(const Edge& edge) const {
  const int count = static_cast<int>(nodes_.size());
  const auto type_at = [&](const Port& port, bool leaves) -> const FrameType* {
    if (port.node == kClient) return nullptr;
    if (port.node < 0 || port.node >= count) {
      throw LoadError(name_of(edge) + ": the node does not exist");
    }
    const std::vector<FrameType>& ports = leaves ? nodes_[port.node].out : nodes_[port.node].in;
    if (port.port < 0 || port.port >= static_cast<int>(ports.size())) {
      throw LoadError(name_of(edge) + ": the port does not exist");
    }
    return &ports[port.port];
  };
  const FrameType* from = type_at(edge.from, true);
  const FrameType* to = type_at(edge.to, false);
  if (!from && !to) throw LoadError(name_of(edge) + " joins the client to itself");
  const ChunkPolicy& policy = edge.policy;
  const int wanted = std::max(policy.initial, policy.steady) + policy.multiple - 1;
  const bool made_here = edge.from.node != kClient;  // only edges between nodes can be full
  if (to && made_here && nodes_[edge.to.node].chunk && edge.window < wanted + policy.lookahead) {
    throw LoadError(concat(name_of(edge), " has room for ", edge.window,
                           " frames, but a chunk may need ", wanted + policy.lookahead));
  }
  if (from && to) {
    if (*from != *to) {
      throw LoadError(concat(name_of(edge), " joins different types, ", type_name(*from), " and ",
                             type_name(*to)));
    }
    if (edge.from.node >= edge.to.node) {
      throw LoadError(name_of(edge) + " runs against the order of the nodes: data flows one way");
    }
    return;
  }
  const Flow flow = from ? from->flow : to->flow;
  if (from && nodes_[edge.from.node].ar && flow == Flow::kSamples) {
    throw LoadError(name_of(edge) + ": only chunk nodes can send samples");
  }
  if (flow != Flow::kText && flow != Flow::kSamples) {
    throw LoadError(concat(name_of(edge), " carries ", flow_name(flow),
                           "; clients send and receive only text and samples"));
  }
}

Graph::Graph(std::vector<Node> nodes, std::vector<Edge> edges)
    : nodes_(std::move(nodes)),
      edges_(std::move(edges)),
      leaving_(nodes_.size()),
      feeding_(nodes_.size(), -1) {
  for (Node& node : nodes_) {
    if (!node.ar == !node.chunk)
      throw LoadError("the node " + node.name + " needs exactly one stage");
    if (node.chunk) node.in = {node.chunk->in()}, node.out = {node.chunk->out()};
  }
  for (size_t e = 0; e < edges_.size(); ++e) {
    const Edge& edge = edges_[e];
    check_edge(edge);
    if (edge.from.node != kClient) leaving_[edge.from.node].push_back(static_cast<int>(e));
    if (edge.to.node == kClient) {
      const Flow flow = nodes_[edge.from.node].out[edge.from.port].flow;
      int& giver = flow == Flow::kText ? writer_ : speaker_;
      if (giver != kClient)
        throw LoadError(name_of(edge) + " is a second edge of this type to the client");
      giver = edge.from.node;
    } else if (nodes_[edge.to.node].chunk) {
      int& feeder = feeding_[edge.to.node];
      if (feeder >= 0) throw LoadError(name_of(edge) + " is the second edge into that node");
      feeder = static_cast<int>(e);
    } else if (edge.from.node == kClient && reader_ == kClient) {
      reader_ = edge.to.node;
    }
  }
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    if (leaving_[n].empty())
      throw LoadError("the output of the node " + node.name + " is not connected");
    if (node.chunk && feeding_[n] < 0) throw LoadError("no edge feeds the node " + node.name);
    if (node.chunk && leaving_[n].size() > 1) {
      throw LoadError("the chunk node " + node.name + " has more than one edge out");
    }
  }
  if (speaker_ == kClient && writer_ == kClient) {
    throw LoadError("the graph sends neither samples nor text to the client");
  }
}

const ArStage& Graph::ar() const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.ar; });
  SYRINX_CHECK(found != nodes_.end(), "the graph has no AR node");
  return *found->ar;
}

std::vector<Link> Graph::links() const {
  std::vector<Link> links;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].chunk) {
      links.push_back({nodes_[n].name, nodes_[n].chunk, feeding(static_cast<int>(n)).policy});
    }
  }
  return links;
}

Graph chain(const ArStage& ar, std::span<const Link> links) {
  const FrameType text{Flow::kText}, frames = links.front().stage->in();
  std::vector<Node> nodes = {{.name = "ar", .ar = &ar, .in = {text}, .out = {frames}}};
  std::vector<Edge> edges = {{.from = {kClient}, .to = {0}}};
  for (const Link& link : links) {
    const int node = static_cast<int>(nodes.size());
    nodes.push_back({.name = link.name, .chunk = link.stage, .in = {}, .out = {}});
    edges.push_back({.from = {node - 1}, .to = {node}, .policy = link.policy});
  }
  edges.push_back({.from = {static_cast<int>(nodes.size()) - 1}, .to = {kClient}});
  return {std::move(nodes), std::move(edges)};
}

Graph writing(const ArStage& ar) {
  const FrameType text{Flow::kText};
  return {{{.name = "ar", .ar = &ar, .in = {text}, .out = {text}}},
          {{.from = {kClient}, .to = {0}}, {.from = {0}, .to = {kClient}}}};
}

}  // namespace syrinx
