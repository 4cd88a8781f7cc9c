// Tests guesses of next steps in the scheduler: they must change only the number of batches of an
// answer. Uses the small text checkpoints of tests/parity, which often repeat themselves. A
// scripted clock gives batches the costs of a large model, which mostly reads its weights.
#include <gtest/gtest.h>

#include <memory>

#include "engine/testing/scripted_machine.h"
#include "families/llm/pipeline.h"

namespace syrinx {
namespace {

std::shared_ptr<const llm::Llm> model_of(const std::string& type) {
  return std::make_shared<llm::Llm>(
      LoadSpec{SYRINX_BINARY_DIR "/parity/llm/" + type, "tiny", WeightType::kF32});
}

EngineOptions drafting(bool drafts) {
  EngineOptions options;
  options.threads = 1;
  options.drafts = drafts;
  return options;
}

/// A machine on which a batch needs 10 ms, and 0.1 ms more for every row.
struct Reader : ScriptedMachine {
  Reader(const std::shared_ptr<const Pipeline>& model, const EngineOptions& options)
      : ScriptedMachine({.options = options, .batch_s = [this](const Batch& b) {
                           ++batches;
                           return 0.010 + 1e-4 * b.units();
                         }}) {
    add(model);
  }
  std::shared_ptr<ScriptedClient> ask(const SpeechRequest& request) {
    const auto client = submit(request);
    EXPECT_TRUE(client) << refusal.message;
    run_to_end();
    return client;
  }
  double hits() { return model().metrics.draft_hits.value(); }
  int64_t batches = 0;
};

struct Answered {
  std::string text;
  std::vector<float> scores;
  FinishReason reason;
  int tokens;
  bool operator==(const Answered&) const = default;
};
void PrintTo(const Answered& a, std::ostream* out) {
  *out << finish_reason_name(a.reason) << " after " << a.tokens << ", " << a.scores.size()
       << " scores: " << a.text;
}

Answered answer(const ScriptedClient& client) {
  EXPECT_TRUE(client.done);
  EXPECT_TRUE(client.outcome.error.message.empty()) << client.outcome.error.message;
  Answered all{client.written, {}, client.outcome.reason, client.outcome.completion_tokens};
  for (const ScoredToken& token : client.tokens) {
    all.scores.push_back(token.drawn.logprob);
    for (const auto& choice : token.top) all.scores.push_back(choice.logprob);
  }
  return all;
}

std::vector<SpeechRequest> questions() {
  std::vector<SpeechRequest> all;
  for (int i = 0; i < 12; ++i) {
    SpeechRequest request;
    request.say.text = "one two three one two three one two " + std::string(1 + i, 'a' + i % 3);
    request.sampling.seed = 7 + i;
    request.writing.max_tokens = 30 + 13 * i;
    request.terms.ignore_stop = i % 4 == 3;
    request.sampling.temperature = i % 3 == 0 ? 0.f : 0.4f * static_cast<float>(i % 3);
    request.sampling.repetition_penalty = i % 5 == 2 ? 1.3f : 1.f;
    request.sampling.top_k = i % 2 == 0 ? 0 : 3;
    if (i % 4 == 1) request.writing.top_logprobs = 2;
    if (i % 6 == 5) request.writing.stop = {"zz", "e t"};
    all.push_back(request);
  }
  return all;
}

/// Returns a request for "qwen3". Its answer has 60 tokens of one character, some unexpected.
SpeechRequest plain_letters() {
  SpeechRequest request;
  request.say.text = "fwPK";
  request.sampling.temperature = 0.3f;
  request.sampling.top_k = 0;
  request.sampling.seed = 1018;
  request.writing.max_tokens = 60;
  request.terms.ignore_stop = true;
  return request;
}

class Drafts : public testing::TestWithParam<const char*> {};

TEST_P(Drafts, ChangeTimeAndNothingElse) {
  const auto model = model_of(GetParam());
  Reader plain(model, drafting(false)), alone(model, drafting(true));
  std::vector<Answered> expected;
  for (const SpeechRequest& request : questions()) {
    const auto slow = plain.ask(request), fast = alone.ask(request);
    expected.push_back(answer(*slow));
    EXPECT_EQ(answer(*fast), expected.back());
    EXPECT_EQ(slow->outcome.guessed_tokens, 0);
    EXPECT_LE(fast->outcome.right_guesses, fast->outcome.guessed_tokens);
  }
  EXPECT_EQ(plain.model().metrics.drafted.value(), 0);
  EXPECT_GT(alone.hits(), 0);
  // A correctly guessed step needs no batch; each other step needs one.
  EXPECT_EQ(alone.batches + static_cast<int64_t>(alone.hits()), plain.batches);

  constexpr int kPages = 8;
  for (const bool share : {false, true}) {
    EngineOptions options = drafting(true);
    options.max_batch = 7;
    options.max_prefill_rows = 9;
    options.share_prefixes = share;
    options.kv_bytes = kPages * KvPool::page_bytes(model->graph().ar().traits().kv[0]);
    Reader crowd(model, options);
    std::vector<std::shared_ptr<ScriptedClient>> clients;
    for (size_t i = 0; i < expected.size(); ++i) {
      SpeechRequest request = questions()[i];
      request.writing.expected = expected[i].text;
      clients.push_back(crowd.submit(request));
    }
    crowd.run_to_end();
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(answer(*clients[i]), expected[i]) << "request " << i;
    }
    EXPECT_GT(crowd.hits(), 0);
    EXPECT_GT(crowd.model().metrics.preemptions.value(), 0) << "no preemption was forced";
    EXPECT_EQ(crowd.model().nodes[0].pages->available(), kPages);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Drafts, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& type) { return std::string(type.param); });

/// The client's expected answer runs as a whole with the prompt's last row, whether right or wrong.
TEST(ExpectedAnswer, TakesAFewBatches) {
  const auto model = model_of("qwen3");
  EngineOptions options = drafting(true);
  options.share_prefixes = false;
  Reader reader(model, options);
  for (int i = 0; i < 4; ++i) reader.ask(questions()[i]);  // the scheduler learns the costs
  const auto ask = [&](const std::string& expected) {
    SpeechRequest request = plain_letters();
    request.writing.expected = expected;
    const int64_t before = reader.batches;
    const auto client = reader.ask(request);
    EXPECT_EQ(client->outcome.completion_tokens, 60);
    EXPECT_EQ(reader.batches - before, 60 - client->outcome.right_guesses);
    return std::pair(client->written, client->outcome.right_guesses);
  };
  const auto [plain, found] = ask("");
  const auto [named, right] = ask(plain);
  EXPECT_EQ(named, plain);
  EXPECT_GT(right, found);
  EXPECT_GE(right, 55);
  const auto [half, some] = ask(plain.substr(0, 30) + "nothing of the kind");
  EXPECT_EQ(half, plain);
  EXPECT_LT(some, right);
  EXPECT_EQ(ask("nothing of the kind").first, plain);
  EXPECT_EQ(ask(std::string(1000, '\xff')).first, plain);
}

/// Guesses come from the other expected answer where the answer differs from the first one, at
/// once if it begins like the answer.
TEST(ExpectedAnswer, AnotherOneHelpsWhereItIsWrong) {
  Reader reader(model_of("qwen3"), drafting(true));
  SpeechRequest request = plain_letters();
  const std::string plain = reader.ask(request)->written;
  const auto right = [&](const std::string& expected, const std::string& instead) {
    request.writing.expected = expected, request.writing.expected_instead = instead;
    const auto client = reader.ask(request);
    EXPECT_EQ(client->written, plain);
    return client->outcome.right_guesses;
  };
  const std::string wrong = "nothing of the kind";
  EXPECT_GE(right(wrong, plain), 50);
  EXPECT_GE(right(plain.substr(0, 20) + wrong, plain), 50);
  EXPECT_GE(right(plain, wrong), 55);
}

/// Two requests in one batch have different expected answers.
TEST(ExpectedAnswer, EachHasItsOwn) {
  const auto model = model_of("qwen3");
  EngineOptions options = drafting(true);
  options.share_prefixes = false;
  Reader reader(model, options);
  for (int i = 0; i < 4; ++i) reader.ask(questions()[i]);  // the scheduler learns the costs
  const std::string plain = reader.ask(plain_letters())->written;
  SpeechRequest wrong = plain_letters(), right = plain_letters();
  wrong.writing.expected =
      "nothing of the kind, and as long as what is written, or longer by a little";
  right.writing.expected = plain;
  const auto first = reader.submit(wrong), second = reader.submit(right);
  reader.run_to_end();
  EXPECT_EQ(first->written, plain);
  EXPECT_EQ(second->written, plain);
  EXPECT_GE(second->outcome.right_guesses, 50);
}

/// If the answer is what the client expects, one batch suffices: that of the prompt's last row.
TEST(ExpectedAnswer, IsVerifiedAtOnce) {
  EngineOptions options = drafting(true);
  options.share_prefixes = false;
  Reader reader(model_of("qwen3"), options);
  for (int i = 0; i < 4; ++i) reader.ask(questions()[i]);  // the scheduler learns the costs
  SpeechRequest request = plain_letters();
  request.writing.max_tokens = 16;
  const std::string sentence = reader.ask(request)->written;
  EXPECT_EQ(sentence.size(), 16u);
  request.writing.expected = sentence;
  const int64_t before = reader.batches;
  EXPECT_EQ(reader.ask(request)->written, sentence);
  EXPECT_EQ(reader.batches - before, 1);
}

/// The top-k rule: the larger k is, the more of the expected answer is kept. This does
/// not depend on whether the engine runs guesses.
TEST(ExpectedAnswer, MoreOfItIsKeptAmongMore) {
  const auto model = model_of("qwen3");
  Reader guessing(model, drafting(true)), plain(model, drafting(false));
  SpeechRequest old = plain_letters();
  old.sampling.temperature = 0.f;
  const std::string draft = guessing.ask(old)->written;
  ASSERT_GT(draft.size(), 30u);
  const auto kept = [&](const std::string& prompt, int among) {
    SpeechRequest request = old;
    request.say.text = prompt, request.writing.expected = draft,
    request.writing.expected_among = among;
    const auto fast = guessing.ask(request), slow = plain.ask(request);
    EXPECT_EQ(answer(*fast), answer(*slow)) << prompt << ", among " << among;
    const std::string& text = fast->written;
    return std::mismatch(text.begin(), text.end(), draft.begin(), draft.end()).first - text.begin();
  };
  std::ptrdiff_t least = 0, most = 0;
  for (const char* prompt : {"fwPKx", "fw", "a fwPK", "One two", "fwPJ", "?"}) {
    std::ptrdiff_t before = 0;
    for (const int among : {1, 2, 3, 5, 20, 100'000}) {
      const std::ptrdiff_t now = kept(prompt, among);
      EXPECT_GE(now, before) << prompt << ", among " << among;
      least += among == 1 ? now : 0;
      before = now;
    }
    most += before;
    EXPECT_EQ(before, std::ssize(draft)) << "all ids are among the likeliest";
  }
  EXPECT_GT(most, 2 * least) << "the test forced nothing";
  EXPECT_EQ(kept("fwPK", 3), std::ssize(draft)) << "an unchanged prompt keeps all";
}

/// Reflection's rule: a beginning that was judged good is always kept, and is continued.
TEST(ExpectedAnswer, WhatIsSettledIsKept) {
  const auto model = model_of("qwen3");
  Reader guessing(model, drafting(true)), plain(model, drafting(false));
  for (const float temperature : {0.f, 0.8f}) {
    SpeechRequest request = plain_letters();
    request.sampling.temperature = temperature;
    request.writing.expected = "No, it is not so. Or is it?";
    for (const size_t settled : {0, 1, 17, 27, 1000}) {
      request.writing.expected_settled = settled;
      const auto fast = guessing.ask(request), slow = plain.ask(request);
      EXPECT_EQ(answer(*fast), answer(*slow)) << settled;
      const size_t whole = std::min(settled, request.writing.expected.size());
      EXPECT_EQ(fast->written.substr(0, whole), request.writing.expected.substr(0, whole));
      EXPECT_EQ(fast->outcome.completion_tokens, 60);
      if (settled != 17) continue;
      SpeechRequest behind = request;
      behind.writing.expected.clear(), behind.writing.expected_settled = 0;
      EXPECT_NE(answer(*fast), answer(*plain.ask(behind)));
    }
  }
}

/// The ids after the beginning that was judged good must be likely, including the first of them.
TEST(ExpectedAnswer, WhatIsSettledEndsWhereItSays) {
  const auto model = model_of("qwen3");
  const std::string settled = "No, it is not so.";
  const auto expecting = [&](const std::string& text) {
    SpeechRequest request = plain_letters();
    request.writing.expected = text;
    request.writing.expected_settled = settled.size(), request.writing.expected_among = 3;
    return model->open(request).take().only();
  };
  const auto part = expecting(settled), whole = expecting(settled + " Or is it?");
  const auto count = static_cast<int>(part->draft().size());
  const std::span<const int32_t> draft = whole->draft();
  ASSERT_LT(count, std::ssize(draft));
  ASSERT_TRUE(std::ranges::equal(draft.first(static_cast<size_t>(count)), part->draft()));
  EXPECT_EQ(whole->drafted_rule(count - 1).forced, draft[count - 1]);
  EXPECT_EQ(whole->drafted_rule(count).forced, -1);
  EXPECT_EQ(whole->drafted_rule(count).wanted, draft[count]);
}

/// Jacobi iteration: its fixed point must be the text that single steps would write, at any
/// temperature, in as many batches or fewer.
TEST(Jacobi, ItsFixedPointIsTheAnswer) {
  for (const char* type : {"llama", "qwen2", "qwen3"}) {
    const auto model = model_of(type);
    Reader plain(model, drafting(false)), blocks(model, drafting(true));
    int iterations = 0, steps = 0;
    for (SpeechRequest request : questions()) {
      const auto slow = plain.ask(request);
      for (const int block : {1, 4, 10}) {
        request.writing.jacobi = block;
        const int64_t before = blocks.batches;
        const auto fast = blocks.ask(request);
        EXPECT_EQ(answer(*fast), answer(*slow)) << type << ", blocks of " << block;
        EXPECT_LE(blocks.batches - before, slow->outcome.completion_tokens + 1);
        iterations += static_cast<int>(blocks.batches - before);
        steps += slow->outcome.completion_tokens;
      }
    }
    EXPECT_GT(blocks.hits(), 0) << "no guess ever came true";
    EXPECT_LT(iterations, steps);
  }
}

/// A question grows, shrinks and changes, and each draft is checked after the next question. The
/// cache must then equal that of a new prefill, as equal scores of all later ids show.
TEST(Rounds, TheCacheIsThatOfAFreshPrefill) {
  const auto model = model_of("qwen3");
  EngineOptions alone = drafting(false);
  alone.share_prefixes = false;
  Reader rounds(model, drafting(true));
  std::string guess;
  int64_t cached = 0;
  for (const int among : {1, 3}) {
    for (const char* prompt : {"What", "What is the", "What is the time and", "What was the time",
                               "What was", "", "What is the time?"}) {
      SpeechRequest request = plain_letters();
      request.say.text = std::string("fwPK ") + prompt;
      request.sampling.temperature = 0.f;
      request.writing.max_tokens = 24, request.writing.top_logprobs = 3;
      request.writing.expected = guess, request.writing.expected_among = among;
      const auto here = rounds.ask(request);
      Reader fresh(model, alone);
      EXPECT_EQ(answer(*here), answer(*fresh.ask(request))) << prompt;
      const auto& cache = *rounds.model().nodes[0].pages;
      EXPECT_EQ(cache.available(), cache.total()) << prompt;
      cached += here->outcome.cached_tokens;
      guess = here->written;
    }
  }
  EXPECT_GT(cached, 0) << "nothing of a round was ever there for the next";
}

/// A conversation's next turn begins with the answer of the previous turn.
TEST(Conversation, TheNextTurnFindsTheAnswerInTheCache) {
  Reader reader(model_of("qwen3"), drafting(true));
  SpeechRequest request = plain_letters();
  const auto first = reader.ask(request);
  EXPECT_EQ(first->outcome.completion_tokens, 60);
  request.say.text += first->written;
  // Cached: all tokens except the last of the answer, whose row never ran, and of the new prompt.
  EXPECT_EQ(reader.ask(request)->outcome.cached_tokens, first->outcome.prompt_tokens + 59);
}

}  // namespace
}  // namespace syrinx
