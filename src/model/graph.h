// A pipeline's graph: nodes, each a network, and edges that carry frames from an output port to an
// input port. The client counts as a node: text and audio come from it and go to it. Data
// flows one way; nodes are listed in that order. Checked when it is made, const afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/frames.h"
#include "model/stage.h"

namespace syrinx {

/// How an edge cuts a stream into chunks; in frames of the chunk node that it feeds.
struct ChunkPolicy {
  int initial = 1;    ///< fresh frames of the first chunk: decides the time to first audio
  int steady = 8;     ///< fresh frames of every later chunk
  int left = 0;       ///< frames seen again before the fresh ones
  int lookahead = 0;  ///< frames that must exist after the fresh ones, unless the stream ended
  int multiple = 1;   ///< fresh frames come in multiples of this, except at the end of the stream
};

/// Exactly one of the two stages is set. A chunk node has one port at either side, of the types
/// that its stage says; an AR node's ports are listed here: its output port of codes carries the
/// frames of its steps, that of text what it writes, that of ids StepOutput::id(), that of rows its
/// taps or StepOutput::row(); at most one of each.
struct Node {
  std::string name;
  const ArStage* ar = nullptr;
  const ChunkStage* chunk = nullptr;
  std::vector<FrameType> in, out;
};

inline constexpr int kClient = -1;

/// An input or an output of a node.
struct Port {
  int node = kClient;
  int port = 0;
};

/// A connection of two ports, on which frames go.
struct Edge {
  Port from, to;
  ChunkPolicy policy = {};  ///< where a chunk node is fed
  /// Frames that may wait in it before its producer leaves the plan (credit); no chunk wants more.
  /// Edges of text and ids have no such limit, because max_steps() bounds them.
  int64_t window = 1024;
};

/// A chunk stage of a chain, with the policy of the edge that feeds it.
struct Link {
  std::string name;
  const ChunkStage* stage = nullptr;
  ChunkPolicy policy;
};

/// Nodes and edges of one pipeline.
class Graph {
 public:
  Graph() = default;
  /// Throws LoadError, naming the edge or the node: a port that does not exist, an edge between
  /// unlike types or against the order of the nodes (so a cycle), a window smaller than the chunks
  /// that are cut from it, an input of a chunk node that nothing or more than one feeds, a node
  /// whose output goes nowhere.
  Graph(std::vector<Node> nodes, std::vector<Edge> edges);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Edge> edges() const { return edges_; }
  const Node& node(int n) const { return nodes_[n]; }

  /// The edges that leave a node.
  std::span<const int> leaving(int node) const { return leaving_[node]; }
  /// The edge that feeds a chunk node.
  const Edge& feeding(int node) const { return edges_[feeding_[node]]; }
  /// The AR node that text of the client goes to, late text too.
  int reader() const { return reader_; }
  /// The node whose samples, or whose text, the client gets; kClient: there is none.
  int speaker() const { return speaker_; }
  int writer() const { return writer_; }

  /// For tools that look at a chain: the first AR stage, and the chunk nodes in their order.
  const ArStage& ar() const;
  std::vector<Link> links() const;

 private:
  void check_edge(const Edge& edge) const;
  std::string name_of(const Edge& edge) const;

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<int>> leaving_;
  std::vector<int> feeding_;
  int reader_ = kClient, speaker_ = kClient, writer_ = kClient;
};

/// The smallest graph that speaks: the client's text -> `ar` -> frames as the first link takes them
/// -> a chain of chunk stages -> the client hears samples. The AR node is called "ar".
Graph chain(const ArStage& ar, std::span<const Link> links);
/// The smallest graph that writes: text -> `ar` -> text.
Graph writing(const ArStage& ar);

}  // namespace syrinx
