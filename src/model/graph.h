// A pipeline's graph: nodes, each a network, and edges that carry frames from an output port to an
// input port. The client counts as a node: text and audio come from it and go to it. Data
// flows one way; nodes are listed in that order. The constructor checks it; it is const afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/frames.h"
#include "model/stage.h"

namespace syrinx {

/// The sizes of the chunks into which an edge cuts a stream, in frames of the node that it feeds.
struct ChunkPolicy {
  int initial = 1;    ///< fresh frames of the first chunk: decides the time to first audio
  int steady = 8;     ///< fresh frames of every later chunk
  int left = 0;       ///< frames seen again before the fresh ones
  int lookahead = 0;  ///< frames that must exist after the fresh ones, unless the stream ended
  int multiple = 1;   ///< fresh frames come in multiples of this, except at the end of the stream
};

/// Exactly one of the two stages is set. A chunk node has one input port and one output port, of
/// the types that its stage returns. An AR node's ports are listed here, at most one output port of
/// each type: codes carries the frames of its steps, text its text, ids StepOutput::id(), rows its
/// taps or StepOutput::row().
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

/// A connection of two ports that carries frames.
struct Edge {
  Port from, to;
  ChunkPolicy policy = {};  ///< only on an edge to a chunk node
  /// Frames that may wait in it; while it is full, its producer is not planned. No chunk needs
  /// more. Edges of text and ids have no such limit, because max_steps() bounds them.
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
  /// Throws LoadError, which names the edge or the node, for: a port that does not exist; an edge
  /// between different types or against the order of the nodes (so a cycle); a window smaller than
  /// its chunks; an input of a chunk node without exactly one edge; an unused output.
  Graph(std::vector<Node> nodes, std::vector<Edge> edges);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Edge> edges() const { return edges_; }
  const Node& node(int n) const { return nodes_[n]; }

  /// Returns the numbers of the edges that leave a node.
  std::span<const int> leaving(int node) const { return leaving_[node]; }
  /// Returns the edge that feeds a chunk node.
  const Edge& feeding(int node) const { return edges_[feeding_[node]]; }
  /// Returns the AR node that gets the client's text, also late text.
  int reader() const { return reader_; }
  /// Return the node that sends the client samples, or text; kClient: none does.
  int speaker() const { return speaker_; }
  int writer() const { return writer_; }

  /// For tools that inspect a chain: the first AR stage, and the chunk nodes in order.
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

/// Makes the smallest graph that speaks: the client's text -> `ar` -> frames of the first link's
/// type -> a chain of chunk stages -> samples for the client. The AR node is called "ar".
Graph chain(const ArStage& ar, std::span<const Link> links);
/// Makes the smallest graph that writes: text -> `ar` -> text.
Graph writing(const ArStage& ar);

}  // namespace syrinx
