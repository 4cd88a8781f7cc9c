// Runs the models of families/writing_models.h through the engine: the same answers under any
// schedule, requests that are cancelled at any moment, answers in text alone.
#include "engine/testing/mixed_schedules.h"
#include "families/writing_models.h"

namespace syrinx {
namespace {

class WritingEngine : public testing::TestWithParam<WritingModel> {
 protected:
  /// Returns requests of all kinds: each case with speech, if the model speaks, and with text only;
  /// a text that is read aloud; stop strings; and, if a talker speaks, an answer of one token, of
  /// which the talker gets nothing.
  std::vector<SpeechRequest> kinds() const {
    std::vector<SpeechRequest> out;
    for (const WrittenCase& c : GetParam().cases(GetParam(), *model_)) {
      SpeechRequest drawn = c.request;
      drawn.sampling.seed = 5 + out.size();
      drawn.sampling.temperature = 1.1f;
      drawn.terms.max_frames = 40;
      drawn.writing.max_tokens = 60;
      if (info_.speaks && info_.converses) {
        drawn.writing.text_only = false;
        out.push_back(drawn);
      }
      drawn.writing.text_only = true;
      drawn.writing.max_tokens = 20;
      out.push_back(drawn);
    }
    if (info_.offers.has("flow")) {
      out.push_back(out.front());
      out.back().terms.flow = FlowMode::kFull;
    }
    SpeechRequest stops = out.front();
    stops.writing.stop = {"st", "你好"};
    out.push_back(stops);
    if (!info_.speaks) return out;
    const auto cached = [](const Node& node) { return node.ar != nullptr; };
    if (std::ranges::count_if(model_->graph().nodes(), cached) > 1) {
      out.push_back(out.front());
      out.back().writing.max_tokens = 1;
    }
    SpeechRequest aloud;
    aloud.voice = out.front().voice;
    aloud.say.text = "Hello there";
    aloud.terms.max_frames = 30;
    aloud.writing.max_tokens = 60;
    out.push_back(aloud);
    return out;
  }
  /// Returns the node whose blocks of frames are larger than random chunks; -1: no node.
  int own_blocks() const {
    const auto nodes = model_->graph().nodes();
    const auto flow = std::ranges::find(nodes, std::string_view("flow"), &Node::name);
    return flow == nodes.end() ? -1 : static_cast<int>(flow - nodes.begin());
  }
  /// Returns the pages of a cache that the request needs, if its speech is a segment of its own.
  size_t pages_of(const SpeechRequest& request) const {
    int pages = 0;
    for (const auto& sequence : model_->open(request).take().sequences) {
      if (!sequence) continue;
      int rows = sequence->prompt_rows() + sequence->max_steps();
      if (info_.speaks && !request.writing.text_only) rows += request.terms.max_frames;
      const int each = (rows + KvPool::kPageRows - 1) / KvPool::kPageRows + 1;
      pages = std::max(pages, sequence->guidance() ? 2 * each : each);
    }
    return static_cast<size_t>(pages);
  }
  size_t page_bytes() const {
    size_t most = 0;
    for (const Node& node : model_->graph().nodes())
      if (node.ar) most = std::max(most, KvPool::page_bytes(node.ar->traits().kv[0]));
    return most;
  }

  const std::shared_ptr<const Pipeline> model_ = load_writing(GetParam());
  const PipelineInfo& info_ = model_->info();
};

/// Every second schedule has only the pages of the largest request. A likely answer
/// changes the time, never the answer.
TEST_P(WritingEngine, AnswersAreTheSameUnderAnySchedule) {
  if (holds_results(kinds().front())) return;
  Executor executor(1);
  size_t pages = 0;
  std::vector<ExpectedAnswer> expected;
  for (const SpeechRequest& request : kinds()) {
    pages = std::max(pages, pages_of(request));
    expected.push_back(run_alone(model_, request, executor));
    if (!model_->graph().ar().traits().drafts || expected.size() % 3 != 0) continue;
    expected.push_back(expected.back());
    expected.back().request.writing.expected = expected.back().text;
  }
  EXPECT_EQ(expected[0].samples.empty(), !info_.speaks || !info_.converses);
  double preemptions = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const size_t bytes = (seed % 2 == 0 ? pages : 10 * pages) * page_bytes();
    preemptions +=
        MixedSchedule(seed, model_, expected, bytes, executor, own_blocks()).run().preemptions;
    if (HasFailure()) FAIL() << "schedule " << seed;
  }
  const bool pairs = info_.offers.has("guidance");  // such a pair may need all pages
  EXPECT_TRUE(preemptions > 0 || pairs) << "no preemption was forced with " << pages << " pages";
}

TEST_P(WritingEngine, RequestsAreCancelledAtAnyMoment) {
  Executor executor(1);
  SpeechRequest request = kinds().front();
  request.writing.max_tokens = request.terms.max_frames = 6;
  cancel_at_any_moment(model_, run_alone(model_, request, executor), executor);
}

TEST_P(WritingEngine, TextAloneRunsNothingBehindTheWriter) {
  Executor executor(1);
  const Graph& graph = model_->graph();
  for (const WrittenCase& c : GetParam().cases(GetParam(), *model_)) {
    std::vector<int> batches(graph.nodes().size());
    Script script;
    script.begins = [&](const Batch& batch) { ++batches[static_cast<size_t>(batch.node)]; };
    ScriptedMachine machine(script, &executor);
    machine.add(model_);
    SpeechRequest request = c.request;
    request.writing.text_only = true;
    request.writing.max_tokens = 20;
    const auto client = machine.submit(request);
    machine.run_to_end();
    EXPECT_TRUE(client->samples.empty()) << c.name;
    EXPECT_GT(batches[static_cast<size_t>(graph.writer())], 0) << c.name;
    for (size_t node = 0; node < batches.size(); ++node) {
      if (static_cast<int>(node) > graph.writer()) {
        EXPECT_EQ(batches[node], 0) << c.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WritingEngine, testing::ValuesIn(kWritingModels), writing_name);

}  // namespace
}  // namespace syrinx
