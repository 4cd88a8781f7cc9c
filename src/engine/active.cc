#include "engine/active.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/pages.h"
#include "text/silent_text.h"

namespace syrinx {
namespace {

/// The probability that a token of RequestWriting::expected is right if all tokens before it were.
/// Used until it is measured. High, because the model usually wrote that text for such a prompt.
constexpr double kExpectedOdds = 0.9;
constexpr double kSignsSilence_s = 0.2;  ///< silence instead of a text of signs, e.g. an emoji

}  // namespace

Active::Active(ResidentModel& of, const SpeechRequest& request, std::shared_ptr<Sink> sink,
               double now_s)
    : seed(request.sampling.seed),
      client(request.terms.client),
      model(&of),
      promised_s(promised_wait_s(of, request)),
      output(of, std::move(sink), request, now_s) {}

bool Active::in_flight() const {
  if (opening) return true;
  return std::any_of(runs.begin(), runs.end(), [](const NodeRun& run) { return run.in_flight(); });
}

void Active::leave_batch(int node) {
  const NodeRun& run = runs[node];
  if (run.chunk) run.chunk->running = false;
  if (run.ar && std::exchange(run.ar->stepping, false)) --model->nodes[node].steps_in_flight;
}

int64_t Active::frames() {
  const int link = model->first_link;
  return runs.empty() || !opens(link) ? 0 : runs[link].chunk->lane.given();
}

double Active::slack_s(double now) {
  double samples = 0;
  for (size_t n = 0; n < runs.size(); ++n) {
    if (!runs[n].chunk) continue;
    const Lane& lane = runs[n].chunk->lane;
    const int64_t frames = lane.waiting() - (lane.closed() ? 0 : lane.policy().lookahead);
    samples +=
        static_cast<double>(std::max<int64_t>(0, frames)) * model->nodes[n].samples_per_frame;
  }
  return output.listener().slack_s(now) + samples / model->pipeline->info().speech.sample_rate;
}

bool Active::stays_silent(std::string_view text, const Error& error) {
  if (!is_nothing_to_say(error) || in_flight() || frames() > 0) return false;
  const TextContent content = parts ? parts->content() : content_of(text);
  if (content == TextContent::kBlank) return false;
  const bool words = content == TextContent::kWords;
  if (words && !parts) return false;
  if (words) unspoken = error;
  if (parts) {
    parts->skip(words ? 0 : kSignsSilence_s);
  } else {
    parts = SpokenParts::silence(kSignsSilence_s);
  }
  release_pages();
  runs.clear();
  runs.resize(model->nodes.size());
  between = true;
  return true;
}

void Active::begin_segment(int node) {
  ArRun& run = *runs[node].ar;
  const bool first = !run.begun;
  model->nodes[node].pages->begin_segment(run);
  const int rows = run.sequence->prompt_rows();
  model->metrics.prompt_rows.add(rows);
  if (!first || model->graph().writer() != node) return;
  output.outcome().prompt_tokens = rows;
  output.outcome().heard_tokens = run.sequence->heard_rows(rows);
}

void Active::begin_segments() {
  for (size_t n = 0; n < runs.size(); ++n) {
    const ArRun* run = runs[n].ar.get();
    if (run && !run->remote() && !run->begun) begin_segment(static_cast<int>(n));
  }
}

void Active::release_pages() {
  for (size_t n = 0; n < runs.size(); ++n) {
    ArRun* run = runs[n].ar.get();
    if (run && !run->stepping) model->nodes[n].pages->release(*run);
  }
}

double promised_wait_s(const ResidentModel& model, const SpeechRequest& request) {
  const EngineOptions& options = model.options;
  const bool heard = model.pipeline->info().speaks && !request.writing.text_only;
  return heard ? options.max_wait_s : std::max(options.max_wait_s, options.max_read_wait_s);
}

Result<std::unique_ptr<Active>> make_active(ResidentModel& model, SpeechRequest request,
                                            std::shared_ptr<Sink> sink, double now_s) {
  auto active = std::make_unique<Active>(model, request, std::move(sink), now_s);
  if (model.graph().reader() != kClient && model.graph().speaker() != kClient) {
    auto parts = SpokenParts::of(request, model.pipeline->info().speech.phones);
    if (!parts.ok()) return parts.error();
    active->parts = parts.take();
  }
  if (!active->parts) {
    active->unopened = std::make_unique<const SpeechRequest>(std::move(request));
  } else if (active->parts->only_silence()) {
    active->between = true;  // the first part has not begun yet
    active->runs.resize(model.nodes.size());
  } else {
    active->unopened = active->parts->begin(0);
  }
  return active;
}

Result<std::vector<NodeRun>> open_runs(const ResidentModel& model, const SpeechRequest& request) {
  Result<Opened> opened = model.pipeline->open(request);
  if (!opened.ok()) return opened.error();
  std::vector<std::unique_ptr<Sequence>> sequences = std::move(opened.value().sequences);
  const Graph& graph = model.graph();
  SYRINX_CHECK(std::ssize(sequences) == model.ar_nodes(), "expected a sequence for each AR node");
  std::vector<NodeRun> runs(model.nodes.size());
  size_t next = 0;
  for (size_t n = 0; n < model.nodes.size(); ++n) {
    const ResidentNode& node = model.nodes[n];
    if (!node.ar) continue;
    if (!sequences[next++]) continue;  // the request does not use this node
    auto run = std::make_unique<ArRun>();
    run->sequence = std::move(sequences[next - 1]);
    if (!request.writing.expected.empty()) run->draft_odds = kExpectedOdds;
    const Sequence& sequence = *run->sequence;
    const std::string problem = node.pages->misfit(sequence);
    if (!problem.empty()) return Error{ErrorCode::kInvalid, problem, "input"};
    run->codes = static_cast<int>(std::ssize(node.ar->traits().vocab));
    run->guided = is_guided(sequence);
    if (run->guided && model.options.max_batch < 2) {
      return Error{ErrorCode::kUnsupported, "guidance needs --max-batch 2 or more"};
    }
    for (int t = 0; t < (run->guided ? 2 : 1); ++t) {
      const int rows = t == 0 ? sequence.prompt_rows() : sequence.companion_rows();
      run->tracks[t].cache.pages.reserve(KvPool::pages_for(rows + sequence.max_steps()));
    }
    runs[n].ar = std::move(run);
  }
  for (size_t n = 0; n < model.nodes.size(); ++n) {
    const ResidentNode& node = model.nodes[n];
    if (!node.chunk) continue;
    // Finds the sequence that feeds the node, directly or through other nodes. If no sequence feeds
    // it, finds the first sequence that the node feeds.
    int from = static_cast<int>(n);
    while (from != kClient && !model.nodes[from].ar) from = graph.feeding(from).from.node;
    for (int to = static_cast<int>(n); from == kClient;) {
      to = graph.edges()[graph.leaving(to).front()].to.node;
      SYRINX_CHECK(to != kClient, "the chunk node is not connected to a sequence");
      if (model.nodes[to].ar) from = to;
    }
    if (!runs[from].ar) continue;  // no AR node of this request is connected to the chunk node
    auto kept = static_cast<int>(n) == model.first_link ? opened.value().kept : nullptr;
    auto run = open_chunk_run(*node.chunk, node.policy, *runs[from].ar->sequence, std::move(kept));
    if (graph.feeding(static_cast<int>(n)).from.node == kClient) {
      run->lane.give({}, opened.value().samples);
      if (!opened.value().samples_open) run->lane.close();
    }
    runs[n].chunk = std::move(run);
  }
  return runs;
}

Result<std::unique_ptr<Active>> open_active(ResidentModel& model, SpeechRequest request,
                                            std::shared_ptr<Sink> sink, double now_s) {
  Result<std::unique_ptr<Active>> active =
      make_active(model, std::move(request), std::move(sink), now_s);
  if (!active.ok() || active.value()->between) return active;
  const std::unique_ptr<const SpeechRequest> part = std::move(active.value()->unopened);
  Result<std::vector<NodeRun>> runs = open_runs(model, *part);
  if (runs.ok()) {
    active.value()->runs = runs.take();
  } else if (!active.value()->stays_silent(part->say.text, runs.error())) {
    return runs.error();
  }
  return active;
}

}  // namespace syrinx
