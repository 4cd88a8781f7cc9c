// The invariants of CONTRACT.md under random schedules: arrivals, cancels, late text, readers that
// pause, stages and states that throw, few pages, models that leave, batches that come back in any
// order and clocks that jump. What fails names its invariant and its schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/scripted_machine.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

constexpr int kSchedules = 2500;

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  /// In [0, n).
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int between(int a, int b) { return a + below(b - a + 1); }
  bool one_in(int n) { return below(n) == 0; }
  double seconds(double most_s) { return most_s * (1 + below(1000)) / 1000; }
  template <typename T, size_t N>
  T of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

/// A request, and what it gives when it has the machine for itself.
struct Told {
  SpeechRequest request;
  bool broken = false;  ///< something throws on its way
  std::vector<float> samples;
  std::vector<int32_t> frames;
  FinishReason reason = FinishReason::kStop;
};

void take_fresh(Batch& batch, const ChunkJob& job, std::vector<int32_t>& frames) {
  const auto width = static_cast<size_t>(batch.stage().in_width());
  const auto fresh = job.codes.subspan(job.left * width, job.fresh * width);
  frames.insert(frames.end(), fresh.begin(), fresh.end());
}

Told tell(Dice& dice, Executor& executor) {
  Told told;
  SpeechRequest& request = told.request;
  for (int i = dice.between(1, 40); i > 0; --i) {
    request.text += static_cast<char>('a' + dice.below(26));
  }
  const int bytes = static_cast<int>(request.text.size());
  if (bytes > 8 && dice.one_in(4)) request.text[bytes / 2] = '|';
  if (dice.one_in(6)) {
    told.broken = true;
    request.text[dice.below(bytes)] = "\001\002\003\004\005^~"[dice.below(7)];
  }
  request.seed = dice.below(100);
  request.max_frames = dice.one_in(5) ? std::max(1, bytes / 2) : bytes;
  if (dice.one_in(3)) request.guidance = 1.5f;
  // A few beginnings, which are shared to different lengths.
  request.instructions = std::string("some shared beginning of prompts, longer than one page")
                             .substr(0, 9 * dice.below(7));
  if (dice.one_in(3)) request.instructions += static_cast<char>('0' + dice.below(3));
  if (told.broken) return told;
  Script script;
  script.options.repetition_s = 0;
  script.ends = [&](Batch& batch) {
    if (batch.node != 1) return;
    for (const ChunkJob& job : batch.jobs()) take_fresh(batch, job, told.frames);
  };
  ScriptedMachine machine(script, &executor);
  machine.add(make_toy_pipeline());
  const auto client = machine.submit(request);
  machine.run_to_end();
  told.samples = client->samples;
  told.reason = client->outcome.reason;
  return told;
}

/// One schedule, and the eyes on it.
class Schedule {
 public:
  Schedule(uint64_t seed, std::span<const Told> told, std::shared_ptr<const Pipeline> pipeline,
           Executor& executor)
      : dice_(seed), told_(told), machine_(script(), &executor) {
    for (int m = 0; m < models_; ++m) machine_.add(pipeline);
  }

  void run() {
    plan();
    size_t at = 0;
    for (int i = 0; i < 200'000; ++i) {
      const double event_s = at < events_.size() ? events_[at].at_s : INFINITY;
      const double next_s = std::min(machine_.next_s(), event_s);
      if (!std::isfinite(next_s)) break;
      machine_.platform.set(std::max(machine_.now(), next_s));
      if (event_s <= next_s) events_[at++].happens();
      machine_.turn();
      look();
      if (::testing::Test::HasFailure()) return;
    }
    at_the_end();
  }

 private:
  struct Event {
    double at_s;
    std::function<void()> happens;
  };
  /// A client and what the schedule knows of it.
  struct Talk {
    const Told* told = nullptr;
    int model = 0;
    std::shared_ptr<ScriptedClient> client;
    std::vector<int32_t> frames;  ///< that were fresh
    bool cancelled = false, failed_batch = false, closed = false;
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
    switch (dice_.below(3)) {
      case 0:
        script.places = {{{1, true}}, true, false};
        break;
      case 1:
        script.places = {{{1, false}, {1, true}}, false, true};
        break;
      default:
        script.places = {std::vector<PlaceSpec>(dice_.between(1, 3)), false, false};
    }
    const double usual_s = dice_.of({0.0, 1e-4, 2e-3});
    script.batch_s = [this, usual_s](const Batch&) {
      if (dice_.one_in(200)) return dice_.of({0.3, 30.0});
      return dice_.seconds(usual_s);
    };
    script.job_s = [this](const HostJob&) { return dice_.seconds(0.01); };
    script.begins = [this](const Batch& batch) { begins(batch); };
    script.ends = [this](Batch& batch) { ends(batch); };
    models_ = dice_.one_in(4) ? 2 : 1;
    return script;
  }

  void at(double at_s, std::function<void()> happens) {
    events_.push_back({at_s, std::move(happens)});
  }

  void plan() {
    const int count = dice_.between(1, 6);
    talks_.resize(count);
    for (Talk& talk : talks_) {
      talk.told = &told_[dice_.below(static_cast<int>(told_.size()))];
      talk.model = dice_.below(models_);
      const double come_s = dice_.seconds(0.05);
      const std::string& text = talk.told->request.text;
      // Late text is not cut at a '|', which is then spoken.
      const bool late = text.size() > 4 && text.find('|') == std::string::npos && dice_.one_in(3);
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
    SpeechRequest request = talk.told->request;
    request.text.resize(first);
    request.text_open = late;
    talk.client = machine_.submit(request, talk.model);
    if (talk.client) ++accepted_;
  }

  void append(const Talk& talk, size_t from, size_t to) {
    if (!talk.client) return;
    const std::string& text = talk.told->request.text;
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
    for (const Active* owner : batch.owners) {
      const Talk& talk = of(*owner);
      EXPECT_FALSE(talk.client->done) << "I6: a batch for a request that has ended";
      EXPECT_FALSE(owner->heard() && talk.client->unread > machine_.script.options.max_unread_s)
          << "I9: a request that its reader pauses is in a batch";
    }
    batch.kind() == Plan::kAr ? step_begins(batch) : chunks_begin(const_cast<Batch&>(batch));
  }

  void step_begins(const Batch& batch) {
    const std::span<const StepSequence> ran = batch.sequences();
    for (size_t i = 0; i < ran.size(); ++i) {
      const StepSequence& s = ran[i];
      const ArRun& run = *batch.owners[i]->runs[0].ar;
      const int prompt = s.companion ? s.state->companion_rows() : s.state->prompt_rows();
      EXPECT_GE(s.rows, 1) << "I1";
      EXPECT_LE(s.first_pos + s.rows, prompt + run.steps) << "I1: rows that are not due";
      EXPECT_FALSE(run.preparing) << "I9: its sequence is away with its text";
      if (s.emits) {
        EXPECT_EQ(s.first_pos + s.rows, prompt + run.steps) << "I1: a step before all due rows";
        EXPECT_TRUE(s.state->ready()) << "I9: a step without text";
      }
      const bool paired =
          i + 1 < ran.size() && ran[i + 1].companion && batch.owners[i + 1] == batch.owners[i];
      if (!s.companion && s.emits && run.guided) {
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

  /// No page that sequence i writes is in the table of another one in flight.
  void writes_alone(const Batch& batch, size_t i) {
    const std::span<const int32_t> written =
        table(batch, i).subspan(batch.sequences()[i].first_pos / KvPool::kPageRows);
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
      EXPECT_GT(job.fresh, 0) << "I5";
      EXPECT_LE(job.left, policy.left) << "I5";
      EXPECT_LE(job.ahead, policy.lookahead) << "I5";
      EXPECT_TRUE(job.last || job.ahead == policy.lookahead) << "I5";
      if (batch.node != 1) continue;
      Talk& talk = of(*batch.owners[i]);
      EXPECT_FALSE(talk.closed) << "I5: a chunk after the last one";
      talk.closed = job.last && job.ahead == 0;
      const size_t taken = talk.frames.size() / 2;
      EXPECT_EQ(job.left, std::min<size_t>(taken, policy.left)) << "I5";
      take_fresh(batch, job, talk.frames);
      if (talk.told->broken) continue;
      const size_t from = 2 * (taken - job.left), to = 2 * (taken + job.fresh + job.ahead);
      ASSERT_LE(to, talk.told->frames.size()) << "I5: more frames than alone";
      EXPECT_TRUE(std::equal(job.codes.begin(), job.codes.end(), talk.told->frames.begin() + from,
                             talk.told->frames.begin() + to))
          << "I5: a window of other frames than alone";
    }
  }

  void ends(const Batch& batch) {
    std::erase(stepping_, &batch);
    if (batch.fault.empty()) return;
    for (const Active* owner : batch.owners) of(*owner).failed_batch = true;
  }

  // -------------------------------------------------------------------------- after a turn

  void look() {
    for (const Talk& talk : talks_) {
      if (!talk.client || talk.client->done) continue;
      const ArRun& run = *talk.client->active->runs[0].ar;
      if (run.away() || !run.open) continue;
      EXPECT_GE(run.rows_due(), 1) << "I1";
      EXPECT_LE(run.steps, run.sequence->max_steps()) << "I7";
    }
  }

  void at_the_end() {
    std::vector<Scheduler::Ended> ended;
    machine_.scheduler.take_ended(ended);
    EXPECT_EQ(ended.size(), accepted_) << "I6";
    EXPECT_EQ(machine_.scheduler.away(), 0);
    for (int m = 0; m < models_; ++m) {
      const ResidentModel& model = machine_.model(m);
      const KvCache& cache = *model.nodes[0].cache;
      EXPECT_EQ(cache.available(), cache.total()) << "I6: pages are missing";
      EXPECT_EQ(model.nodes[0].steps_in_flight, 0);
      EXPECT_EQ(model.requests, 0) << "I6";
      EXPECT_EQ(machine_.scheduler.has(model), !model.leaving);
    }
    for (const Talk& talk : talks_) {
      if (talk.client) heard(talk);
    }
  }

  void heard(const Talk& talk) {
    const ScriptedClient& client = *talk.client;
    ASSERT_TRUE(client.done) << "I6: request " << client.id << " never ended";
    const FinishReason reason = client.outcome.reason;
    if (reason == FinishReason::kError) {
      EXPECT_TRUE(talk.told->broken || talk.failed_batch)
          << "I8: an innocent request failed: " << client.outcome.error.message;
      EXPECT_EQ(client.outcome.error.code, ErrorCode::kInternal);
      if (talk.told->broken) return;
    }
    if (talk.told->broken) return;
    const bool whole = reason != FinishReason::kError && reason != FinishReason::kCancelled;
    EXPECT_TRUE(whole || talk.cancelled || talk.failed_batch) << "I6";
    if (whole) {
      EXPECT_EQ(reason, talk.told->reason) << "I2 to I5";
      EXPECT_TRUE(talk.closed) << "I5: a stream without its last chunk";
      EXPECT_EQ(talk.frames, talk.told->frames) << "I5: not every frame was fresh once";
      EXPECT_EQ(client.samples.size(), talk.told->samples.size()) << "I2 to I5";
    }
    ASSERT_LE(client.samples.size(), talk.told->samples.size()) << "I2 to I5";
    EXPECT_TRUE(
        std::equal(client.samples.begin(), client.samples.end(), talk.told->samples.begin()))
        << "I2 to I5: other samples than alone, request " << client.id;
  }

  Dice dice_;
  std::span<const Told> told_;
  int models_ = 1;
  std::vector<Event> events_;
  std::vector<Talk> talks_;
  std::vector<const Batch*> stepping_;
  size_t accepted_ = 0;
  ScriptedMachine machine_;
};

TEST(Schedules, KeepTheContract) {
  Executor executor(1);
  Dice dice(1);
  std::vector<Told> told;
  for (int i = 0; i < 100; ++i) told.push_back(tell(dice, executor));
  const std::shared_ptr<const Pipeline> pipeline = make_toy_pipeline();
  for (uint64_t seed = 0; seed < kSchedules; ++seed) {
    Schedule(seed, told, pipeline, executor).run();
    if (HasFailure()) FAIL() << "in schedule " << seed;
  }
}

}  // namespace
}  // namespace syrinx
