#include "model/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace syrinx {
namespace {

class Ar : public ArStage {
 public:
  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext&, const ArBatch&, View) const override {}
  void logits(StepContext&, int, const ArBatch&, View, View, View) const override {}

 private:
  ArTraits traits_{4, {8}, {}, 16};
};

class Stage : public ChunkStage {
 public:
  Stage(FrameType in, FrameType out) : in_(in), out_(out) {}
  FrameType in() const override { return in_; }
  FrameType out() const override { return out_; }
  std::unique_ptr<StreamState> open(Bundle) const override { return {}; }
  void run(StepContext&, std::span<ChunkJob>) const override {}

 private:
  FrameType in_, out_;
};

constexpr FrameType kText{Flow::kText}, kCodes{Flow::kCodes, 3}, kMel{Flow::kRows, 80},
    kAudio{Flow::kSamples, 480};

std::string graph_fault(std::vector<Node> nodes, std::vector<Edge> edges) {
  try {
    const Graph graph(std::move(nodes), std::move(edges));
  } catch (const LoadError& e) {
    return e.what();
  }
  return "";
}

TEST(Graph, AChainKnowsItsEnds) {
  const Ar ar;
  const Stage flow(kCodes, kMel), vocoder(kMel, kAudio);
  const Link links[] = {{"flow", &flow, {2, 4}}, {"vocoder", &vocoder, {1, 8}}};
  const Graph graph = chain(ar, links);
  EXPECT_EQ(graph.nodes().size(), 3u);
  EXPECT_EQ(graph.reader(), 0);
  EXPECT_EQ(graph.speaker(), 2);
  EXPECT_EQ(graph.writer(), kClient);
  EXPECT_EQ(graph.feeding(1).policy.steady, 4);
  EXPECT_EQ(graph.feeding(2).from.node, 1);
  EXPECT_EQ(graph.edges()[graph.leaving(2).front()].to.node, kClient);
  EXPECT_EQ(writing(ar).writer(), 0);
}

TEST(Graph, SaysWhichEdgeIsWrong) {
  const Ar ar;
  const Stage codec(kCodes, kAudio), vocoder(kMel, kAudio), again(kMel, kMel);
  const Node lm{.name = "lm", .ar = &ar, .in = {kText}, .out = {kCodes}};
  const Node out{.name = "codec", .chunk = &codec, .in = {}, .out = {}};
  const Edge in{.from = {kClient}, .to = {0}}, feed{.from = {0}, .to = {1}},
      hear{.from = {1}, .to = {kClient}};
  EXPECT_EQ(graph_fault({lm, out}, {in, feed, hear}), "");
  EXPECT_EQ(
      graph_fault({lm, {.name = "voc", .chunk = &vocoder, .in = {}, .out = {}}}, {in, feed, hear}),
      "the edge lm.0 -> voc.0 joins different types, codes[3] and rows[80]");
  EXPECT_EQ(graph_fault({lm, out}, {in, {.from = {0}, .to = {7}}, hear}),
            "the edge lm.0 -> node 7: the node does not exist");
  EXPECT_EQ(graph_fault({lm, out}, {in, {.from = {0, 1}, .to = {1}}, hear}),
            "the edge lm.1 -> codec.0: the port does not exist");
  EXPECT_EQ(graph_fault({lm, out}, {in, feed, feed, hear}),
            "the edge lm.0 -> codec.0 is the second edge into that node");
  EXPECT_EQ(graph_fault({lm, out}, {in, hear}), "the output of the node lm is not connected");
  EXPECT_EQ(
      graph_fault({lm, out}, {in, {.from = {0}, .to = {kClient}}}),
      "the edge lm.0 -> client carries codes; clients send and receive only text and samples");
  EXPECT_EQ(
      graph_fault({lm, out},
                  {in, {.from = {0}, .to = {1}, .policy = {4, 9, 0, 2, 3}, .window = 12}, hear}),
      "the edge lm.0 -> codec.0 has room for 12 frames, but a chunk may need 13");
  EXPECT_EQ(
      graph_fault({lm, out},
                  {in, {.from = {0}, .to = {1}, .policy = {4, 9, 0, 2, 3}, .window = 13}, hear}),
      "");
  const Node a{.name = "a", .chunk = &again, .in = {}, .out = {}}, b = [&] {
    Node node = a;
    node.name = "b";
    return node;
  }();
  EXPECT_EQ(graph_fault({a, b}, {{.from = {0}, .to = {1}}, {.from = {1}, .to = {0}}}),
            "the edge b.0 -> a.0 runs against the order of the nodes: data flows one way");
  EXPECT_EQ(graph_fault({{.name = "none", .in = {}, .out = {}}}, {}),
            "the node none needs exactly one stage");
  const Edge nothing{.from = {kClient}, .to = {kClient}};
  EXPECT_EQ(graph_fault({lm, out}, {nothing, in, feed, hear}),
            "the edge client -> client joins the client to itself");
}

}  // namespace
}  // namespace syrinx
