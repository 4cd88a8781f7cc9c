#include "bench/rehearsal.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"

namespace syrinx {
namespace {

/// Records when the answer arrived, on the clock of the turn.
class Hearer : public Audience {
 public:
  Hearer(std::function<double()> clock, std::function<int()> forwards, SentenceOptions sentence)
      : clock_(std::move(clock)), forwards_(std::move(forwards)), sentences_(sentence) {}

  void ask() {
    const std::lock_guard lock(mutex_);
    asked_s_ = clock_();
  }
  void text(std::string_view piece) override {
    const std::lock_guard lock(mutex_);
    result_.answer += piece;
    if (written_) return;
    // An answer of one sentence ends with its last piece.
    result_.sentence_s = clock_() - asked_s_;
    result_.forwards = forwards_ ? forwards_() : 0;
    std::vector<SentenceStream::Item> certain;
    sentences_.push(piece, certain);
    written_ = !certain.empty();
  }
  void audio(std::span<const float> samples) override {
    const std::lock_guard lock(mutex_);
    if (result_.audio_s == 0 && !samples.empty()) result_.audio_s = clock_() - asked_s_;
  }
  void done(const Error& error, const TurnCounts& counts) override {
    const std::lock_guard lock(mutex_);
    result_.error = error;
    result_.counts = counts;
    over_ = true;
    changed_.notify_all();
  }
  bool over() const {
    const std::lock_guard lock(mutex_);
    return over_;
  }
  /// Waits for the end, for at most a twentieth of a second; returns over().
  bool wait_a_moment() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return over_; });
  }
  Rehearsal result() const {
    const std::lock_guard lock(mutex_);
    return result_;
  }

 private:
  const std::function<double()> clock_;
  const std::function<int()> forwards_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SentenceStream sentences_;
  double asked_s_ = 0;
  bool written_ = false;  // the first sentence
  bool over_ = false;
  Rehearsal result_;
};

/// Cancels a turn if an exception leaves the function.
class CancelOnFault {
 public:
  explicit CancelOnFault(Turn& turn) : turn_(turn), faults_(std::uncaught_exceptions()) {}
  ~CancelOnFault() {
    if (std::uncaught_exceptions() > faults_) turn_.cancel();
  }
  CancelOnFault(const CancelOnFault&) = delete;
  CancelOnFault& operator=(const CancelOnFault&) = delete;

 private:
  Turn& turn_;
  const int faults_;
};

Chat chat_of(const std::string& system, const std::string& question) {
  nlohmann::json messages = nlohmann::json::array();
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  messages.push_back({{"role", "user"}, {"content", question}});
  return {messages.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ""};
}

/// Returns the number after "top-" in "top-3"; 0 if it is not a number between 1 and `most`.
int number_behind(const std::string& name, const std::string& what, int most) {
  if (!name.starts_with(what) || name.size() > what.size() + 4) return 0;
  int value = 0;
  for (const char c : name.substr(what.size())) {
    if (c < '0' || c > '9') return 0;
    value = 10 * value + (c - '0');
  }
  return value <= most ? value : 0;
}

}  // namespace

std::vector<NamedPrediction> parse_rules(const std::string& list, const Prediction& base) {
  constexpr int kMostBlock = 31;
  std::vector<NamedPrediction> out;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    NamedPrediction& next = out.emplace_back(list.substr(begin, end - begin), base);
    const int among = number_behind(next.name, "top-", Prediction::kMostAmong);
    const int block = number_behind(next.name, "jacobi-", kMostBlock);
    if (among > 0) {
      next.how.rule = DraftRule::kTopK, next.how.among = among;
    } else if (block > 0) {
      next.how.jacobi = block;
    } else if (next.name == "reflection") {
      next.how.rule = DraftRule::kReflection;
    } else if (next.name != "greedy") {
      throw LoadError(
          concat("unknown rule '", next.name,
                 "': expected greedy, top-1 to top-100, reflection, or jacobi-1 to jacobi-31"));
    }
    begin = end + 1;
  }
  return out;
}

Rehearsal rehearse(VirtualPair& pair, const TimedQuestion& question,
                   const RehearsalOptions& options) {
  const double from_s = pair.now();
  const auto ear = std::make_shared<Hearer>(
      [&pair] { return pair.now(); }, [&pair] { return pair.forwards(); }, options.turn.sentence);
  const auto turn = Turn::begin(pair.writer(), pair.speaker(), options.turn, ear);
  const CancelOnFault guard(*turn);
  for (const TimedQuestion::Update& update : question.updates) {
    pair.run_until(from_s + update.at_s);
    turn->hear(chat_of(options.system, update.text));
    if (options.check) options.check();
  }
  pair.run_until(from_s + question.end_s);
  pair.count_forwards();
  ear->ask();
  turn->ask(chat_of(options.system, question.text));
  while (!ear->over() && pair.next()) {
    if (options.check) options.check();
  }
  if (!ear->over()) turn->cancel();
  while (pair.requests() > 0 && pair.next()) {
  }
  Rehearsal out = ear->result();
  out.question = question.text;
  return out;
}

Rehearsal rehearse(Engine& writer, Engine& speaker, const TimedQuestion& question,
                   const RehearsalOptions& options) {
  const double from_s = now_s();
  const auto sleep_until = [&](double at_s) {
    constexpr double kStep_s = 0.05;  // between two checks
    while (true) {
      if (options.check) options.check();
      const double left_s = from_s + at_s - now_s();
      if (left_s <= 0) return;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, kStep_s)));
    }
  };
  const auto ear = std::make_shared<Hearer>(now_s, nullptr, options.turn.sentence);
  const auto turn = Turn::begin(writer, speaker, options.turn, ear);
  const CancelOnFault guard(*turn);
  for (const TimedQuestion::Update& update : question.updates) {
    sleep_until(update.at_s);
    turn->hear(chat_of(options.system, update.text));
  }
  sleep_until(question.end_s);
  ear->ask();
  turn->ask(chat_of(options.system, question.text));
  while (!ear->wait_a_moment()) {
    if (options.check) options.check();
  }
  Rehearsal out = ear->result();
  out.question = question.text;
  return out;
}

std::vector<Rehearsal> rehearse(VirtualPair& pair, const std::vector<TimedQuestion>& questions,
                                const RehearsalOptions& options) {
  std::vector<Rehearsal> out;
  for (const TimedQuestion& question : questions) out.push_back(rehearse(pair, question, options));
  return out;
}

}  // namespace syrinx
