#include "cli/serve/inspect.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "io/file.h"
#include "kernels/cpu/gemm_sets.h"
#include "model/options.h"

namespace syrinx {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Prints columns as wide as their longest cell, separated by two spaces.
void print_table(const Rows& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i];
      if (i + 1 < row.size()) line.append(width[i] - row[i].size() + 1, ' ');
    }
    std::printf("%s\n", line.c_str());
  }
}

std::string comma_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out.empty() ? "-" : out;
}

const char* late_text_name(LateText late) {
  switch (late) {
    case LateText::kNone:
      return "no";
    case LateText::kSentence:
      return "by sentence";
    case LateText::kToken:
      return "by token";
  }
  return "?";
}

std::string codes_text(const std::vector<int>& vocab) {
  const bool equal =
      std::all_of(vocab.begin(), vocab.end(), [&](int v) { return v == vocab.front(); });
  if (vocab.size() > 1 && equal) return concat(vocab.size(), " x ", vocab.front());
  std::vector<std::string> sizes;
  for (const int v : vocab) sizes.push_back(std::to_string(v));
  return comma_list(sizes);
}

/// Describes what the client sends (`sends`) or receives, in words for people.
std::string client_text(const Graph& graph, bool sends) {
  std::vector<std::string> what;
  for (const Edge& edge : graph.edges()) {
    const Port& end = sends ? edge.from : edge.to;
    const Port& other = sends ? edge.to : edge.from;
    if (end.node != kClient) continue;
    const Node& node = graph.node(other.node);
    const Flow flow = (sends ? node.in : node.out)[other.port].flow;
    what.emplace_back(flow == Flow::kSamples ? "audio" : flow_name(flow));
  }
  return comma_list(what);
}

void print_facts(const PipelineInfo& info, const Graph& graph) {
  std::printf("%s\n", info.model.c_str());
  Rows rows = {{"family", info.family},
               {"licence", info.licence.empty() ? "-" : info.licence},
               {"takes", client_text(graph, true)},
               {"answers with", client_text(graph, false)}};
  if (info.speaks) {
    rows.push_back({"sample rate", concat(info.speech.sample_rate, " Hz")});
    rows.push_back({"frame rate", concat(info.speech.frame_rate, " frames/s")});
    rows.push_back({"instructions", info.offers.has("instructions") ? "yes" : "no"});
    rows.push_back({"late text", late_text_name(info.speech.late_text)});
    rows.push_back({"word times", info.speech.word_times ? "yes" : "no"});
  }
  rows.push_back({"languages", comma_list(info.speech.languages)});
  const std::string options = offered_options(info.offers);
  rows.push_back({"options", options.empty() ? "-" : options});
  rows.push_back({"longest text", concat(info.max_text_bytes, " bytes")});
  rows.push_back({"CPU kernels", cpu::gemm_set().name});
  print_table(rows);
}

std::string port_text(const FrameType& type) {
  return type.width == 1 ? flow_name(type.flow) : concat(flow_name(type.flow), " x ", type.width);
}

void print_steps(const Node& node) {
  const ArTraits& ar = node.ar->traits();
  std::printf("\nautoregressive node %s\n", node.name.c_str());
  Rows rows = {{"device", device_name(node.ar->device())},
               {"width", std::to_string(ar.hidden)},
               {"codes a step", codes_text(ar.vocab)},
               {"positions", std::to_string(ar.max_positions)}};
  for (const KvSpec& kv : ar.kv) {
    rows.push_back({"cache", concat(kv.layers, " layers, ", kv.kv_heads, " heads of ", kv.head_dim,
                                    ", ", dtype_name(kv.dtype))});
  }
  print_table(rows);
}

void print_graph(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.ar) print_steps(node);
  }
  std::printf("\nedges (counted in frames of the node that receives them)\n");
  Rows rows = {{"from", "to", "frames", "first chunk", "later chunks", "left context", "lookahead",
                "device"}};
  for (const Edge& edge : graph.edges()) {
    const auto name = [&](int n) { return n == kClient ? "client" : graph.node(n).name; };
    const FrameType type = edge.from.node == kClient
                               ? graph.node(edge.to.node).in[edge.to.port]
                               : graph.node(edge.from.node).out[edge.from.port];
    std::vector<std::string> row = {name(edge.from.node), name(edge.to.node), port_text(type)};
    if (edge.to.node != kClient && graph.node(edge.to.node).chunk) {
      const ChunkPolicy& policy = edge.policy;
      for (const int number : {policy.initial, policy.steady, policy.left, policy.lookahead}) {
        row.push_back(std::to_string(number));
      }
      row.push_back(device_name(graph.node(edge.to.node).chunk->device()));
    }
    rows.push_back(row);
  }
  print_table(rows);
}

void print_parts(const std::vector<PartInfo>& parts) {
  Rows rows = {{"part", "shape", "memory"}};
  size_t total = 0;
  for (const PartInfo& part : parts) {
    rows.push_back({part.name, part.shape, size_text(part.bytes)});
    total += part.bytes;
  }
  rows.push_back({"all", "", size_text(total)});
  std::printf("\nparts\n");
  print_table(rows);
}

void print_voices(const PipelineInfo& info) {
  std::printf("\nvoices\n");
  Rows rows;
  for (const VoiceInfo& voice : info.speech.voices) {
    const bool standard = voice.id == info.speech.default_voice;
    rows.push_back({voice.id + (standard ? " *" : ""), voice.description});
  }
  if (rows.empty())
    rows.push_back({info.speech.default_voice.empty() ? "-" : info.speech.default_voice});
  print_table(rows);
}

int run_inspect(const LoadOptions& options) {
  const std::shared_ptr<const Pipeline> pipeline = load_pipeline(options);
  print_facts(pipeline->info(), pipeline->graph());
  print_graph(pipeline->graph());
  print_parts(pipeline->info().parts);
  if (pipeline->info().speaks) print_voices(pipeline->info());
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<LoadOptions>();
  LoadOptions& load = *options;
  CLI::App* sub = app.add_subcommand("inspect", "Show the parts of a model");
  sub->add_option("name", load.model, "built-in voice, directory or Org/Name");
  add_model(*sub, load);
  sub->callback([&chosen, options] { chosen = [options] { return run_inspect(*options); }; });
}

}  // namespace syrinx
