// The invariants of CONTRACT.md under random schedules: arrivals, cancels, late text, readers that
// pause, stages and states that throw, few pages, few seats, models that leave, batches that come
// back in any order and clocks that jump. run_plainly() computes the expected output. Each
// invariant has its own test with its own schedules; a failure names the invariant and the
// schedule. I13 is tested in model/pipeline_test.cc, I14 and I16 in schedules_outputs_test.cc.
// SYRINX_SCHEDULES=10000 sets the number of schedules of each test (./check long); the default is a
// few hundred.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "engine/testing/dice.h"
#include "engine/testing/mixed_schedules.h"
#include "engine/testing/plain_run.h"
#include "engine/testing/scripted_machine.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

constexpr int kInvariants = 17;  // index 0 stands for all invariants

/// A request, and its output, computed without the engine.
struct Expected : PlainRun {
  SpeechRequest request;
  bool broken = false;  ///< the text makes some function throw
};

Expected draw(Dice& dice) {
  Expected expected;
  SpeechRequest& request = expected.request;
  for (int i = dice.between(1, 40); i > 0; --i) {
    request.say.text += static_cast<char>('a' + dice.below(26));
  }
  const int bytes = static_cast<int>(request.say.text.size());
  if (bytes > 8 && dice.one_in(4)) request.say.text[bytes / 2] = '|';
  if (bytes > 8 && dice.one_in(4)) request.say.text[bytes / 2 + dice.between(1, 3)] = '&';
  if (dice.one_in(6)) {
    expected.broken = true;
    request.say.text[dice.below(bytes)] = "\001\002\003\004\005^~"[dice.below(7)];
  }
  request.sampling.seed = dice.below(100);
  request.terms.max_frames = dice.one_in(5) ? std::max(1, bytes / 2) : bytes;
  if (dice.one_in(3)) request.sampling.guidance = 1.5f;
  // Requests share first rows of different lengths. Companions share them only up to '#'.
  request.say.instructions = std::string("some shared b#ginning of prompts, longer than one page")
                                 .substr(0, 9 * dice.below(7));
  if (dice.one_in(3)) request.say.instructions += static_cast<char>('0' + dice.below(3));
  if (expected.broken) return expected;
  static_cast<PlainRun&>(expected) = run_plainly(*make_toy_pipeline(), request);
  return expected;
}

/// One random schedule, with the checks of the invariants.
class Schedule {
 public:
  /// `watched`: number of the only invariant that is checked; 0 checks all.
  Schedule(uint64_t seed, int watched, std::span<const Expected> expected,
           std::shared_ptr<const Pipeline> pipeline, Executor& executor)
      : watched_(watched), dice_(seed), expected_(expected), machine_(script(), &executor) {
    for (int m = 0; m < models_; ++m) machine_.add(pipeline);
  }
  /// Returns how often invariant i was checked.
  int64_t seen(int i) const { return seen_[i]; }

  void run() {
    plan();
    size_t at = 0;
    for (int i = 0;; ++i) {
      ASSERT_LT(i, 100'000) << "a schedule without an end";
      const double event_s = at < events_.size() ? events_[at].at_s : INFINITY;
      const double next_s = std::min(machine_.next_s(), event_s);
      if (!std::isfinite(next_s)) break;
      machine_.platform.set(std::max(machine_.now(), next_s));
      if (event_s <= next_s) events_[at++].happens();
      turn();
      look();
      if (::testing::Test::HasFailure()) return;
    }
    at_the_end();
  }

 private:
  /// Counts a check of invariant i and returns whether this schedule checks it.
  bool watch(int i) {
    ++seen_[i];
    return watched_ == 0 || watched_ == i;
  }
  bool few_seats() const { return machine_.script.options.max_wait_s < 1; }

  struct Event {
    double at_s;
    std::function<void()> happens;
  };
  /// A client, its request, and the state of both in the schedule.
  struct Talk {
    const Expected* expected = nullptr;
    int model = 0;
    std::shared_ptr<ScriptedClient> client;
    std::vector<int32_t> frames;  ///< frames that chunks have received as new frames
    bool cancelled = false, failed_batch = false, closed = false, background = false;
    double come_s = 0;
  };

  Script script() {
    Script script;
    EngineOptions& o = script.options;
    o.policy = dice_.of({"streaming", "throughput", "fcfs"});
    o.max_batch = dice_.between(2, 6);
    o.max_prefill_rows = dice_.between(1, 40);
    o.kv_bytes = dice_.between(4, 14) * KvPool::page_bytes({1, 2, 8, DType::kF32});
    o.share_prefixes = !dice_.one_in(3);
    o.repetition_s = 0;
    o.max_unread_s = 0.05;
    o.max_wait_s = 1e9;
    if (dice_.one_in(6)) o.max_requests = 2, o.max_wait_s = 0.02;
    switch (dice_.below(3)) {
      case 0:
        script.slots = {{{1, true}}, true, false};
        break;
      case 1:
        script.slots = {{{1, false}, {1, true}}, false, true};
        break;
      default:
        script.slots = {std::vector<SlotSpec>(dice_.between(1, 3)), false, false};
    }
    const double usual_s = dice_.of({0.0, 1e-4, 2e-3});
    script.batch_s = [this, usual_s](const Batch&) {
      if (dice_.one_in(200)) return dice_.of({0.3, 30.0});
      return dice_.seconds(usual_s);
    };
    script.job_s = [this](const HostJob& job) {
      prepares(job);
      return dice_.seconds(0.01);
    };
    script.begins = [this](const Batch& batch) { begins(batch); };
    script.ends = [this](Batch& batch) { ends(batch); };
    models_ = dice_.one_in(4) ? 2 : 1;
    background_ = dice_.one_in(4);
    return script;
  }

  void at(double at_s, std::function<void()> happens) {
    events_.push_back({at_s, std::move(happens)});
  }

  void plan() {
    const int count = dice_.between(1, 6);
    talks_.resize(count);
    for (Talk& talk : talks_) {
      talk.expected = &expected_[dice_.below(static_cast<int>(expected_.size()))];
      talk.model = dice_.below(models_);
      const double come_s = dice_.seconds(0.05);
      const std::string& text = talk.expected->request.say.text;
      // A text with '|' or '&' is not cut, because late text treats these bytes as words.
      const bool whole = text.find_first_of("|&") != std::string::npos;
      const bool late = text.size() > 4 && !whole && dice_.one_in(3);
      const size_t first = late ? dice_.below(static_cast<int>(text.size()) - 1) : text.size();
      at(come_s, [this, &talk, first, late] { come(talk, first, late); });
      double text_s = come_s;
      for (size_t from = first; from < text.size();) {
        const size_t to = std::min(text.size(), from + dice_.between(1, 12));
        text_s += dice_.seconds(0.03);
        at(text_s, [this, &talk, from, to] { append(talk, from, to); });
        from = to;
      }
      if (dice_.one_in(4)) {
        at(come_s + dice_.seconds(0.1), [this, &talk] {
          if (!talk.client) return;
          talk.cancelled = true;
          machine_.scheduler.cancel(talk.client->id);
        });
      }
      if (background_ && dice_.one_in(4)) {
        at(come_s + dice_.seconds(0.1), [this, &talk] {
          if (!talk.client) return;
          talk.background = false;
          machine_.scheduler.raise_priority(talk.client->id);
        });
      }
      if (dice_.one_in(4)) {
        const double pause_s = come_s + dice_.seconds(0.05);
        at(pause_s, [&talk] {
          if (talk.client) talk.client->unread = 1;
        });
        at(pause_s + dice_.seconds(0.2), [&talk] {
          if (talk.client) talk.client->unread = 0;
        });
      }
    }
    if (models_ == 2 && dice_.one_in(2)) {
      at(dice_.seconds(0.1), [this] {
        machine_.scheduler.remove(machine_.model(1));
        for (Talk& talk : talks_) talk.cancelled = talk.cancelled || talk.model == 1;
      });
    }
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.at_s < b.at_s; });
  }

  void come(Talk& talk, size_t first, bool late) {
    if (machine_.model(talk.model).leaving) return;
    SpeechRequest request = talk.expected->request;
    request.say.text.resize(first);
    request.say.open = late;
    request.terms.background = talk.background = background_ && dice_.one_in(3);
    talk.come_s = machine_.now();
    // The prompts of every fourth request are made by a host thread.
    talk.client = dice_.one_in(4) ? machine_.submit_soon(request, talk.model)
                                  : machine_.submit(request, talk.model);
    if (talk.client) {
      ++accepted_;
    } else if (watch(7)) {
      EXPECT_TRUE(never_fits(talk)) << "I7: refused without need: " << machine_.refusal.message;
    }
  }

  /// Returns whether a request may need more positions than the whole cache has.
  bool never_fits(const Talk& talk) {
    const SpeechRequest& request = talk.expected->request;
    const int rows =
        static_cast<int>(request.say.instructions.size()) + 3 + request.terms.max_frames;
    const int pages = machine_.model(talk.model).nodes[0].pages->total();
    return rows > pages / (request.sampling.guidance ? 2 : 1) * KvPool::kPageRows;
  }

  /// Checks a job that passes late text to a sequence.
  void prepares(const HostJob& job) {
    if (!job.sequence || !watch(9)) return;
    EXPECT_FALSE(job.owner->runs[job.node].ar->stepping)
        << "I9: text goes into a sequence that is in a batch";
  }

  /// Takes a turn of the machine and checks which requests lose pages.
  void turn() {
    machine_.platform.hand_back(machine_.scheduler);
    for (int i = 0;; ++i) {
      ASSERT_LT(i, 1000) << "a turn without an end";
      const double before = preemptions();
      const std::vector<const Talk*> live = holders(false), behind = holders(true);
      const bool more = machine_.scheduler.dispatch();
      if (preemptions() > before && models_ == 1) pages_go_in_order(live, behind);
      if (preemptions() > before && models_ == 1 && !background_ && watch(2)) {
        EXPECT_EQ(machine_.model().nodes[0].steps_in_flight, 0)
            << "I2: pages are taken although a step is under way";
      }
      if (!more) return;
    }
  }

  static const ArRun* steps_of(const Talk& talk) {
    if (!talk.client || talk.client->done || talk.client->active->runs.empty()) return nullptr;
    return talk.client->active->runs[0].ar.get();
  }
  /// Returns the requests whose pages may be taken: live ones, or those in the background.
  std::vector<const Talk*> holders(bool background) const {
    std::vector<const Talk*> out;
    for (const Talk& talk : talks_) {
      const ArRun* const run = steps_of(talk);
      if (run && run->holds() && !run->remote() && talk.background == background)
        out.push_back(&talk);
    }
    return out;
  }
  /// Checks the order of preemption. `live`, `behind`: live and background requests that held
  /// pages; at least one of these lost its pages.
  void pages_go_in_order(std::span<const Talk* const> live, std::span<const Talk* const> behind) {
    const auto keeps = [](const Talk* talk) {
      const ArRun* const run = steps_of(*talk);
      return run && run->holds();
    };
    if (std::ranges::all_of(live, keeps) || behind.empty() || !watch(15)) return;
    for (const Talk* talk : behind) {
      const ArRun* const run = steps_of(*talk);
      EXPECT_FALSE(run && run->holds() && !run->remote())
          << "I15: one in the background keeps its pages, and others lost theirs";
    }
  }
  double preemptions() { return machine_.model().metrics.preemptions.value(); }

  void append(const Talk& talk, size_t from, size_t to) {
    if (!talk.client) return;
    const std::string& text = talk.expected->request.say.text;
    machine_.scheduler.append_text(talk.client->id, text.substr(from, to - from),
                                   to == text.size());
  }

  Talk& of(const Active& active) {
    for (Talk& talk : talks_) {
      if (talk.client && talk.client->id == active.id) return talk;
    }
    ADD_FAILURE() << "I6: a batch for request " << active.id << ", which is nobody's";
    return talks_.front();
  }

  // -------------------------------------------------------------------------- batches

  void begins(const Batch& batch) {
    EXPECT_LE(static_cast<int>(batch.owners.size()), machine_.script.options.max_batch);
    for (const Batch* other : under_way_) {
      if (other->executor != batch.executor) continue;
      EXPECT_EQ(other->model, batch.model) << "a batch waits behind another model's";
    }
    under_way_.push_back(&batch);
    seen_[3] += batch.owners.size() > 1 ? 1 : 0;
    for (const Active* owner : batch.owners) {
      const Talk& talk = of(*owner);
      if (background_ && watch(15)) {
        EXPECT_EQ(batch.background, talk.background) << "I15: in a batch with others";
      }
      if (watch(6)) {
        EXPECT_FALSE(talk.client->done) << "I6: a batch for one that has ended";
      }
      if (watch(9)) {
        EXPECT_FALSE(owner->output.heard() &&
                     talk.client->unread > machine_.script.options.max_unread_s)
            << "I9: a request that its reader pauses is in a batch";
      }
    }
    batch.kind() == Plan::kAr ? step_begins(batch) : chunks_begin(const_cast<Batch&>(batch));
  }

  void step_begins(const Batch& batch) {
    const SlotsSpec& slots = machine_.script.slots;
    if (slots.split) {
      EXPECT_EQ(batch.executor, batch.model->nodes[batch.node].slot) << "a step at another's home";
    } else {
      EXPECT_TRUE(slots.slots[batch.executor].steps) << "a step where none may run";
    }
    const std::span<const StepSequence> ran = batch.sequences();
    for (size_t i = 0; i < ran.size(); ++i) {
      const StepSequence& s = ran[i];
      const ArRun& run = *batch.owners[i]->runs[0].ar;
      const int prompt = s.companion ? s.state->companion_rows() : s.state->prompt_rows();
      if (watch(1)) {
        EXPECT_GE(s.rows, 1) << "I1";
        EXPECT_EQ(s.first_pos, run.tracks[s.companion ? 1 : 0].cache.rows) << "I1: a gap";
        EXPECT_LE(s.first_pos + s.rows, prompt + run.steps) << "I1: rows that are not due";
        if (s.emits) {
          EXPECT_EQ(s.first_pos + s.rows, prompt + run.steps) << "I1: a step before all due rows";
        }
      }
      if (watch(9)) {
        EXPECT_FALSE(run.preparing) << "I9: a host thread has its sequence";
        EXPECT_TRUE(!s.emits || s.state->ready()) << "I9: a step without text";
      }
      const bool paired =
          i + 1 < ran.size() && ran[i + 1].companion && batch.owners[i + 1] == batch.owners[i];
      if (!s.companion && s.emits && run.guided && watch(10)) {
        EXPECT_TRUE(paired && ran[i + 1].emits) << "I10: half of a pair takes a step";
      }
    }
    stepping_.push_back(&batch);
    for (size_t i = 0; i < ran.size(); ++i) writes_alone(batch, i);
  }

  static std::span<const int32_t> table(const Batch& batch, size_t i) {
    const StepSequence& s = batch.sequences()[i];
    return batch.page_table().subspan(i * batch.table_width(),
                                      KvPool::pages_for(s.first_pos + s.rows));
  }

  /// Checks that no page that sequence i writes is in the table of another sequence in flight.
  void writes_alone(const Batch& batch, size_t i) {
    const std::span<const int32_t> written =
        table(batch, i).subspan(batch.sequences()[i].first_pos / KvPool::kPageRows);
    if (!watch(11)) return;
    for (const Batch* other : stepping_) {
      if (other->model != batch.model) continue;
      for (size_t j = 0; j < other->sequences().size(); ++j) {
        if (other == &batch && i == j) continue;
        for (const int32_t page : table(*other, j)) {
          EXPECT_EQ(std::count(written.begin(), written.end(), page), 0)
              << "I11: page " << page << " is written while another sequence reads it";
        }
      }
    }
  }

  void chunks_begin(Batch& batch) {
    const ChunkPolicy& policy = batch.model->nodes[batch.node].policy;
    for (size_t i = 0; i < batch.jobs().size(); ++i) {
      const ChunkJob& job = batch.jobs()[i];
      const bool eye = watch(5);
      if (eye) {
        EXPECT_GT(job.fresh, 0) << "I5";
        EXPECT_LE(job.left, policy.left) << "I5";
        EXPECT_LE(job.ahead, policy.lookahead) << "I5";
        EXPECT_TRUE(job.last || job.ahead == policy.lookahead) << "I5";
      }
      if (batch.node != 1) continue;
      Talk& talk = of(*batch.owners[i]);
      if (eye) {
        EXPECT_FALSE(talk.closed) << "I5: a chunk after the last one";
      }
      talk.closed = job.last && job.ahead == 0;
      const size_t taken = talk.frames.size() / 2;
      if (eye) {
        EXPECT_EQ(job.left, std::min<size_t>(taken, policy.left)) << "I5";
      }
      take_fresh(batch, job, talk.frames);
      if (talk.expected->broken || !eye) continue;
      const size_t from = 2 * (taken - job.left), to = 2 * (taken + job.fresh + job.ahead);
      ASSERT_LE(to, talk.expected->frames.size()) << "I5: more frames than there are";
      EXPECT_TRUE(std::equal(job.codes.begin(), job.codes.end(),
                             talk.expected->frames.begin() + from,
                             talk.expected->frames.begin() + to))
          << "I5: a window of other frames";
    }
  }

  void ends(const Batch& batch) {
    std::erase(stepping_, &batch);
    std::erase(under_way_, &batch);
    if (batch.fault.empty()) return;
    for (const Active* owner : batch.owners) of(*owner).failed_batch = true;
  }

  // -------------------------------------------------------------------------- after a turn

  void look() {
    for (int m = 0; m < models_; ++m) {
      const ResidentModel& model = machine_.model(m);
      if (model.requests == 0 || !watch(6)) continue;
      EXPECT_TRUE(machine_.scheduler.has(model)) << "I6: a model is gone before its requests";
    }
    int in_flight = static_cast<int>(under_way_.size());
    bool ended = false;
    for (const Talk& talk : talks_) {
      if (!talk.client) continue;
      ended = ended || talk.client->done;
      if (talk.client->done) continue;
      const Active& active = *talk.client->active;
      in_flight += active.opening || (!active.runs.empty() && active.runs[0].ar->preparing) ? 1 : 0;
    }
    if (!ended && watch(9)) {
      EXPECT_EQ(machine_.scheduler.in_flight(), in_flight)
          << "I9: two host threads in one sequence";
    }
    for (const Talk& talk : talks_) {
      if (!talk.client || talk.client->done || talk.client->active->runs.empty()) continue;
      const ArRun& run = *talk.client->active->runs[0].ar;
      if (run.remote() || !run.open) continue;
      if (watch(1)) {
        EXPECT_GE(run.rows_due(), 1) << "I1";
      }
      if (watch(7)) {
        EXPECT_LE(run.steps, run.sequence->max_steps()) << "I7";
      }
    }
  }

  void at_the_end() {
    EXPECT_EQ(machine_.scheduler.in_flight(), 0);
    seen_[2] += static_cast<int64_t>(preemptions());
    if (watch(6)) {
      EXPECT_EQ(machine_.released, accepted_) << "I6";
    }
    for (int m = 0; m < models_; ++m) {
      const ResidentModel& model = machine_.model(m);
      const Pages& cache = *model.nodes[0].pages;
      if (watch(11)) {
        EXPECT_EQ(cache.available(), cache.total()) << "I11: pages are missing";
      }
      if (!watch(6)) continue;
      EXPECT_EQ(model.nodes[0].steps_in_flight, 0) << "I6";
      EXPECT_EQ(model.requests, 0) << "I6";
      EXPECT_EQ(machine_.scheduler.has(model), !model.leaving) << "I6";
    }
    for (const Talk& talk : talks_) {
      if (talk.client) heard(talk);
    }
  }

  void heard(const Talk& talk) {
    const ScriptedClient& client = *talk.client;
    const Expected& expected = *talk.expected;
    const FinishReason reason = client.outcome.reason;
    if (watch(6)) {
      ASSERT_TRUE(client.done) << "I6: request " << client.id << " never ended";
    }
    bool refused = false;
    if (reason == FinishReason::kError) {
      const ErrorCode code = client.outcome.error.code;
      refused = code == ErrorCode::kOverloaded;
      if (refused && watch(12)) {
        const EngineOptions& o = machine_.script.options;
        EXPECT_EQ(o.policy, "streaming") << "I12: only deadlines refuse";
        EXPECT_GT(client.ended_s - talk.come_s, o.max_wait_s) << "I12: before the promised time";
        EXPECT_EQ(client.outcome.waited_s, 0) << "I12: it had its seat";
      }
      // Counts refusals that submit_soon() reports through finished().
      refused = refused || (code == ErrorCode::kInvalid && never_fits(talk));
      if (!refused && watch(8)) {
        EXPECT_TRUE(expected.broken || talk.failed_batch)
            << "I8: an innocent request failed: " << client.outcome.error.message;
        EXPECT_EQ(code, ErrorCode::kInternal) << "I8";
      }
    }
    if (reason != FinishReason::kError && few_seats() &&
        machine_.script.options.policy == "streaming" && watch(12)) {
      EXPECT_LT(client.outcome.waited_s, machine_.script.options.max_wait_s + 31) << "I12";
    }
    if (watch(7)) {
      const std::string& text = expected.request.say.text;
      const auto segments =
          1 + std::count(text.begin(), text.end(), '|') + std::count(text.begin(), text.end(), '&');
      EXPECT_LE(std::ssize(talk.frames),
                2 * segments * std::max(1, expected.request.terms.max_frames))
          << "I7: more frames than were wanted";
    }
    if (expected.broken) return;
    const bool whole = reason != FinishReason::kError && reason != FinishReason::kCancelled;
    if (watch(6)) {
      EXPECT_TRUE(whole || talk.cancelled || talk.failed_batch || refused) << "I6";
    }
    if (whole) {
      if (watch(7)) {
        EXPECT_EQ(reason, expected.reason) << "I7";
      }
      if (watch(5)) {
        EXPECT_TRUE(talk.closed) << "I5: a stream without its last chunk";
        EXPECT_EQ(talk.frames, expected.frames) << "I5: not every frame was fresh once";
      }
      if (watch(4)) {
        EXPECT_EQ(talk.frames, expected.frames) << "I4: other numbers were drawn";
      }
      if (watch(3)) {
        EXPECT_EQ(client.samples, expected.samples) << "I3: other samples than plainly";
      }
      if (background_ && watch(15)) {
        EXPECT_EQ(client.samples, expected.samples) << "I15: it sounds otherwise";
      }
      if (preemptions() > 0 && watch(2)) {
        EXPECT_EQ(client.samples, expected.samples) << "I2";
      }
      if (expected.request.sampling.guidance && watch(10)) {
        EXPECT_EQ(talk.frames, expected.frames) << "I10";
      }
    }
    if (!watch(3)) return;
    ASSERT_LE(client.samples.size(), expected.samples.size()) << "I3";
    EXPECT_TRUE(std::equal(client.samples.begin(), client.samples.end(), expected.samples.begin()))
        << "I3: other samples than plainly, request " << client.id;
  }

  const int watched_;
  std::array<int64_t, kInvariants> seen_{};
  Dice dice_;
  std::span<const Expected> expected_;
  int models_ = 1;
  bool background_ = false;  // some requests may be in the background
  std::vector<Event> events_;
  std::vector<Talk> talks_;
  std::vector<const Batch*> stepping_, under_way_;
  size_t accepted_ = 0;
  ScriptedMachine machine_;
};

/// Runs `count` schedules that check one invariant; each test has its own seeds.
void keep(int invariant, int count) {
  Executor executor(1);
  Dice dice(1);
  std::vector<Expected> expected;
  for (int i = 0; i < 100; ++i) expected.push_back(draw(dice));
  const std::shared_ptr<const Pipeline> pipeline = make_toy_pipeline();
  int64_t seen = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t seed = 1'000'000 * static_cast<uint64_t>(invariant) + static_cast<uint64_t>(i);
    Schedule schedule(seed, invariant, expected, pipeline, executor);
    schedule.run();
    if (::testing::Test::HasFailure()) FAIL() << "in schedule " << seed;
    seen += schedule.seen(invariant);
  }
  EXPECT_TRUE(invariant == 0 || seen > 0) << "no schedule could have broken it";
}

TEST(Schedules, KeepTheContract) { keep(0, schedules(1500)); }
TEST(Schedules, I1_Positions) { keep(1, schedules(150)); }
TEST(Schedules, I2_Recompute) { keep(2, schedules(150)); }
TEST(Schedules, I3_BatchInvariance) { keep(3, schedules(150)); }
TEST(Schedules, I4_RandomNumbers) { keep(4, schedules(150)); }
TEST(Schedules, I5_Chunks) { keep(5, schedules(150)); }
TEST(Schedules, I6_Ends) { keep(6, schedules(150)); }
TEST(Schedules, I7_Bounds) { keep(7, schedules(150)); }
TEST(Schedules, I8_Faults) { keep(8, schedules(150)); }
TEST(Schedules, I9_WaitingCostsNothing) { keep(9, schedules(150)); }
TEST(Schedules, I10_Pairs) { keep(10, schedules(150)); }
TEST(Schedules, I11_SharedPages) { keep(11, schedules(150)); }
TEST(Schedules, I12_Refusals) { keep(12, schedules(150)); }
TEST(Schedules, I15_Background) { keep(15, schedules(150)); }

}  // namespace
}  // namespace syrinx
