#include "link/message.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/fuzzing.h"
#include "link/fixture.h"
#include "link/step_message.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

Introduction some_introduction() {
  return {
      "1.2.3", "avx2", "toy f32 0123", {{"vocoder", {Flow::kRows, 5}, {Flow::kSamples, 64}, 2}}};
}

StepResults some_results() {
  StepResults out;
  out.codes_per_step = 2;
  out.codes = {1, 2, 3, 4};
  out.status = {SampleStatus::kOk, SampleStatus::kNotFinite};
  out.scores = {{{1, -0.5f}, {{1, -0.5f}, {2, -1.5f}}}, {}};
  out.values = {0.25f};
  out.taps = {1.f, 2.f};
  out.faults = {std::nullopt, Error{ErrorCode::kInternal, "it broke"}};
  return out;
}

/// Returns the bytes of one message of each kind.
std::vector<std::string> all_messages() {
  std::vector<std::string> out(12);
  append_hello(out[0], some_introduction());
  append_welcome(out[1], some_introduction());
  append_refuse(out[2], "the versions differ");
  append_open(out[3], {7, 1, "a bundle"});
  append_push(out[4],
              {.batch = 9,
               .node = 1,
               .jobs = {{7, 12, 1, 2, 1, true, "16 bytes are here"}, {8, 0, 0, 1, 0, false, "x"}}});
  append_made(out[5], {.batch = 9, .jobs = {{{}, 3, "values"}, {"it broke", 0, {}}}});
  append_close(out[6], 7);
  append_cache(out[7], {1, 512});
  append_call(out[8], {7, "a call"});
  append_step(out[9], {.batch = 10,
                       .node = 1,
                       .copies = {{3, 4}},
                       .sequences = {{.stream = 7,
                                      .first_pos = 30,
                                      .rows = 4,
                                      .drafts = 2,
                                      .emits = true,
                                      .guided = true,
                                      .seed = 5,
                                      .step = 6,
                                      .scores = 3,
                                      .pages = "of 4 and8"},
                                     {.stream = 8, .companion = true, .taps = true, .pages = {}}}});
  append_stepped(out[10], {.batch = 10, .fault = "", .results = some_results()});
  append_leaving(out[11]);
  return out;
}

/// Reads the fields of a message of any kind.
void read_fields(const Message& message) {
  switch (message.kind) {
    case MessageKind::kHello:
    case MessageKind::kWelcome:
      (void)read_introduction(message.body);
      return;
    case MessageKind::kRefuse:
      (void)read_refuse(message.body);
      return;
    case MessageKind::kOpen:
      (void)read_open(message.body);
      return;
    case MessageKind::kPush:
      (void)read_push(message.body);
      return;
    case MessageKind::kMade:
      (void)read_made(message.body);
      return;
    case MessageKind::kClose:
      (void)read_close(message.body);
      return;
    case MessageKind::kCache:
      (void)read_cache(message.body);
      return;
    case MessageKind::kCall:
      (void)read_call(message.body);
      return;
    case MessageKind::kStep:
      (void)read_step(message.body);
      return;
    case MessageKind::kStepped:
      (void)read_stepped(message.body);
      return;
    case MessageKind::kLeaving:
      read_leaving(message.body);
      return;
  }
  FAIL() << "a message of no kind";
}

Message only_message(const std::string& bytes) {
  MessageReader reader;
  reader.push(bytes);
  std::optional<Message> message = reader.next();
  EXPECT_TRUE(message.has_value());
  EXPECT_FALSE(reader.next().has_value());
  return message.value_or(Message());
}

TEST(Message, ThereAndBack) {
  const std::vector<std::string> all = all_messages();
  const Introduction me = read_introduction(only_message(all[0]).body);
  EXPECT_EQ(me.version, "1.2.3");
  EXPECT_EQ(me.cpu, "avx2");
  EXPECT_EQ(me.model, "toy f32 0123");
  EXPECT_EQ(me.nodes, some_introduction().nodes);
  EXPECT_EQ(only_message(all[1]).kind, MessageKind::kWelcome);
  EXPECT_EQ(read_refuse(only_message(all[2]).body), "the versions differ");

  const Message open = only_message(all[3]);
  EXPECT_EQ(read_open(open.body).stream, 7u);
  EXPECT_EQ(read_open(open.body).node, 1);
  EXPECT_EQ(read_open(open.body).bundle, "a bundle");

  const Message pushed = only_message(all[4]);
  const PushMessage push = read_push(pushed.body);
  EXPECT_EQ(push.batch, 9u);
  EXPECT_EQ(push.node, 1);
  ASSERT_EQ(push.jobs.size(), 2u);
  const PushedJob& job = push.jobs[0];
  EXPECT_EQ(job.stream, 7u);
  EXPECT_EQ(job.at, 12);
  EXPECT_EQ(job.left, 1u);
  EXPECT_EQ(job.fresh, 2u);
  EXPECT_EQ(job.ahead, 1u);
  EXPECT_TRUE(job.last);
  EXPECT_EQ(job.window, "16 bytes are here");
  EXPECT_FALSE(push.jobs[1].last);

  const Message maker = only_message(all[5]);
  const MadeMessage made = read_made(maker.body);
  EXPECT_EQ(made.batch, 9u);
  ASSERT_EQ(made.jobs.size(), 2u);
  EXPECT_EQ(made.jobs[0].made, 3u);
  EXPECT_EQ(made.jobs[0].values, "values");
  EXPECT_EQ(made.jobs[1].fault, "it broke");
  EXPECT_EQ(read_close(only_message(all[6]).body), 7u);
}

TEST(Message, OfStepsThereAndBack) {
  const std::vector<std::string> all = all_messages();
  EXPECT_EQ(read_cache(only_message(all[7]).body).node, 1);
  EXPECT_EQ(read_cache(only_message(all[7]).body).pages, 512u);
  const Message called = only_message(all[8]);
  EXPECT_EQ(read_call(called.body).stream, 7u);
  EXPECT_EQ(read_call(called.body).call, "a call");

  const Message asked = only_message(all[9]);
  const StepMessage step = read_step(asked.body);
  EXPECT_EQ(step.batch, 10u);
  EXPECT_EQ(step.node, 1);
  ASSERT_EQ(step.copies.size(), 1u);
  EXPECT_EQ(step.copies[0].from, 3);
  EXPECT_EQ(step.copies[0].to, 4);
  ASSERT_EQ(step.sequences.size(), 2u);
  const PushedSequence& first = step.sequences[0];
  EXPECT_EQ(first.stream, 7u);
  EXPECT_EQ(first.first_pos, 30);
  EXPECT_EQ(first.rows, 4);
  EXPECT_EQ(first.drafts, 2);
  EXPECT_TRUE(first.emits && first.guided && !first.companion && !first.taps);
  EXPECT_EQ(first.seed, 5u);
  EXPECT_EQ(first.step, 6u);
  EXPECT_EQ(first.scores, 3);
  EXPECT_EQ(first.pages, "of 4 and8");
  EXPECT_TRUE(step.sequences[1].companion && step.sequences[1].taps);
  EXPECT_FALSE(step.sequences[1].emits || step.sequences[1].guided);

  const SteppedMessage stepped = read_stepped(only_message(all[10]).body);
  const StepResults want = some_results();
  EXPECT_EQ(stepped.batch, 10u);
  EXPECT_EQ(stepped.fault, "");
  EXPECT_EQ(stepped.results.codes_per_step, 2);
  EXPECT_EQ(stepped.results.codes, want.codes);
  EXPECT_EQ(stepped.results.status, want.status);
  ASSERT_EQ(stepped.results.scores.size(), 2u);
  EXPECT_EQ(stepped.results.scores[0].drawn.id, 1);
  ASSERT_EQ(stepped.results.scores[0].top.size(), 2u);
  EXPECT_EQ(stepped.results.scores[0].top[1].logprob, -1.5f);
  EXPECT_EQ(stepped.results.values, want.values);
  EXPECT_EQ(stepped.results.taps, want.taps);
  ASSERT_EQ(stepped.results.faults.size(), 2u);
  EXPECT_FALSE(stepped.results.faults[0]);
  EXPECT_EQ(stepped.results.faults[1]->message, "it broke");
}

TEST(Message, ComesInAnyPieces) {
  std::string bytes;
  for (const std::string& message : all_messages()) bytes += message;
  MessageReader reader;
  std::vector<MessageKind> kinds;
  for (const char byte : bytes) {
    reader.push({&byte, 1});
    while (const std::optional<Message> message = reader.next()) kinds.push_back(message->kind);
  }
  ASSERT_EQ(kinds.size(), 12u);
  EXPECT_EQ(kinds[4], MessageKind::kPush);
}

TEST(Message, ALongOneIsRefusedBeforeItCame) {
  MessageReader reader;
  reader.push(std::string("\xFF\xFF\xFF\x7F\x01", 5));
  EXPECT_THROW(reader.next(), LoadError);
  std::string hello;
  append_hello(hello, some_introduction());
  MessageReader small;
  small.push(hello.substr(0, 5));
  EXPECT_THROW(small.next(10), LoadError);
}

TEST(MessageFuzz, AnyBytesAreAMessageOrAnError) {
  const std::vector<std::string> all = all_messages();
  std::mt19937 random(2);
  int read = 0, refused = 0;
  const int inputs = fuzz_inputs(20'000);
  for (int i = 0; i < inputs; ++i) {
    std::string bytes = all[random() % all.size()];
    for (uint32_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.insert(at, random() % 9, static_cast<char>(random()));
          break;
        default:
          bytes.resize(std::max<size_t>(1, at));
      }
    }
    // Half of the messages get the right length, so that their fields are read.
    if (i % 2 == 0 && bytes.size() > 5) {
      const auto length = static_cast<uint32_t>(bytes.size() - 4);
      bytes.replace(0, 4, reinterpret_cast<const char*>(&length), 4);
    }
    MessageReader reader;
    reader.push(bytes);
    try {
      while (const std::optional<Message> message = reader.next()) {
        read_fields(*message);
        ++read;
      }
    } catch (const LoadError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, inputs / 40);
  EXPECT_GT(refused, inputs / 4);
}

TEST(Introduction, APeerThatDiffersIsOfNoUse) {
  const Introduction wanted = some_introduction();
  EXPECT_EQ(mismatch(wanted, wanted), "");
  const auto fault = [&](const std::function<void(Introduction&)>& change) {
    Introduction other = wanted;
    change(other);
    return mismatch(wanted, other);
  };
  EXPECT_NE(fault([](auto& o) { o.version = "1.2.4"; }).find("versions"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.cpu = "avx512"; }).find("instruction sets"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.model = "toy f32 4567"; }).find("weights"), std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.nodes.clear(); }).find("'vocoder' is missing"),
            std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.nodes[0].in.width = 6; }).find("rows[5] to samples[64] here"),
            std::string::npos);
  EXPECT_NE(fault([](auto& o) { o.nodes[0].steps = "width 6"; }).find("steps of 'vocoder'"),
            std::string::npos);
  EXPECT_EQ(fault([](auto& o) { o.nodes.push_back({"flow", {}, {}, 1}); }), "");
}

TEST(Introduction, OfNodesOfAGraph) {
  const auto toy = make_toy_pipeline();
  const std::string name = toy->graph().nodes()[1].name;
  const NodeShape shape = shape_of(toy->graph(), name);
  EXPECT_EQ(shape.in, toy->graph().nodes()[1].chunk->in());
  EXPECT_EQ(shape.most_out, toy->graph().nodes()[1].chunk->most_out());
  const NodeShape steps = shape_of(toy->graph(), "ar");
  EXPECT_EQ(
      steps.steps,
      "width 16, codes 64 32, taps 0, values 0, positions 4096, cache 1x2x8 f32, takes text[1]");
  try {
    (void)shape_of(toy->graph(), "flow");
    FAIL();
  } catch (const LoadError& e) {
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace syrinx
