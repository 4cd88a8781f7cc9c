// A pipeline's graph: nodes, each with one network, and edges that carry frames from an output port
// to an input port. The client counts as a node that sends and receives text and audio. Data flows
// in the order of the list of nodes. The constructor checks this; the graph is const.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/frames.h"
#include "model/stage.h"

namespace syrinx {

/// The sizes of the chunks into which an edge cuts a stream, counted in frames of the edge.
struct ChunkPolicy {
  int initial = 1;    ///< new ("fresh") frames of the first chunk; decides the time to first audio
  int steady = 8;     ///< fresh frames of every later chunk
  int left = 0;       ///< earlier frames that a chunk repeats before its fresh ones
  int lookahead = 0;  ///< frames that must exist after the fresh ones, unless the stream ended
  int multiple = 1;   ///< fresh frames come in multiples of this, except at the end of the stream
};

/// A node with exactly one of its two stages set. A chunk node has one input port and one output
/// port, with the types that its stage returns. An AR node lists its ports here. It has at most one
/// output port of each type: codes (the frames of its steps), text, ids (StepOutput::id()), rows
/// (its taps or StepOutput::row()).
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
  ChunkPolicy policy = {};  ///< used only on an edge to a chunk node
  /// Most frames that may wait, at least a chunk. While the edge is full, its producer is not
  /// planned. Edges of text and ids have no limit, as max_steps() bounds them.
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
  /// Throws LoadError, which names the edge or the node, if, for example, a port does not exist; an
  /// edge joins different types or runs against the order of the nodes (as in a cycle); a window is
  /// smaller than a chunk; an input of a chunk node has not exactly one edge; an output is unused.
  Graph(std::vector<Node> nodes, std::vector<Edge> edges);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Edge> edges() const { return edges_; }
  const Node& node(int n) const { return nodes_[n]; }

  /// Returns the numbers of the edges that leave a node.
  std::span<const int> leaving(int node) const { return leaving_[node]; }
  /// Returns the edge that feeds a chunk node.
  const Edge& feeding(int node) const { return edges_[feeding_[node]]; }
  /// Returns the AR node that receives the client's text, including late text.
  int reader() const { return reader_; }
  /// Return the node that sends samples, or text, to the client. kClient if no node sends them.
  int speaker() const { return speaker_; }
  int writer() const { return writer_; }

  /// For tools that inspect a chain: returns the first AR stage, and the chunk nodes in order.
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
/// type -> a chain of chunk stages -> samples for the client. The name of the AR node is "ar".
Graph chain(const ArStage& ar, std::span<const Link> links);
/// Makes the smallest graph that writes: text -> `ar` -> text.
Graph writing(const ArStage& ar);

}  // namespace syrinx
