#include "link/remote_stage.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "link/stream_past.h"

namespace syrinx {
namespace {

constexpr size_t kAhead = 8;  // most unanswered batches of repeated chunks

/// Returns values of 4 bytes as the bytes in memory.
template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

struct RemoteStage::Stream : StreamState {
  explicit Stream(StreamPast p) : past(std::move(p)) {}
  ~Stream() override { leave(); }
  bool lives() const { return copy && !lost && copy->link->epoch() == epoch; }
  void leave() {
    if (copy) copy->link->close_stream(epoch, number);
    copy = nullptr;
  }

  const Place* copy = nullptr;  ///< null until a process is chosen
  uint64_t epoch = 0;           ///< the stream's connection to that process
  uint64_t number = 0;
  bool opened = false;                ///< the other process has opened the stream
  bool lost = false;                  ///< the results of a chunk did not arrive
  std::unique_ptr<StreamState> here;  ///< local state: follow() updates it, cut() reads it
  StreamPast past;
};

/// The jobs of the streams on one connection.
struct RemoteStage::Group {
  const Place* copy = nullptr;
  uint64_t epoch = 0;
  Jobs jobs = {};
  uint64_t number = 0;
  std::shared_ptr<StageLink::Batch> batch = {};

  StageLink& link() const { return *copy->link; }
  static Stream& stream(const ChunkJob* job) { return *static_cast<Stream*>(job->state); }
};

RemoteStage::RemoteStage(std::string name, const ChunkStage& here, std::vector<Place> copies)
    : name_(std::move(name)), here_(here), copies_(std::move(copies)) {}

std::unique_ptr<StreamState> RemoteStage::open(Bundle bundle) const {
  std::string bytes;
  bundle.append_to(bytes);
  auto stream = std::make_unique<Stream>(
      StreamPast(std::move(bytes), in_width(), copies_.front().link->options().kept_bytes));
  stream->here = here_.open(std::move(bundle));
  return stream;
}

int RemoteStage::cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const {
  return here_.cut(*static_cast<const Stream&>(stream).here, waiting, planned);
}

PushedJob RemoteStage::pushed(const ChunkJob& job) const {
  const auto& stream = *static_cast<const Stream*>(job.state);
  return {.stream = stream.number,
          .at = stream.past.at(),
          .left = static_cast<uint32_t>(job.left),
          .fresh = static_cast<uint32_t>(job.fresh),
          .ahead = static_cast<uint32_t>(job.ahead),
          .last = job.last,
          .window = job.codes.empty() ? bytes_of(job.values) : bytes_of(job.codes)};
}

/// Chooses a process for a stream that has none or lost its process. False if none is connected.
bool RemoteStage::settle(Stream& stream) const {
  if (stream.lives()) return true;
  const bool again = stream.copy != nullptr;
  stream.leave();
  if (!stream.past.whole()) return false;
  const Place* const copy = choose_copy(copies_);
  const uint64_t epoch = copy ? copy->link->epoch() : 0;
  if (epoch == 0) return false;
  stream.copy = copy;
  stream.epoch = epoch;
  stream.number = copy->link->new_number();
  stream.opened = stream.lost = false;
  copy->link->open_stream(again);
  return true;
}

/// Returns the jobs grouped by connection; jobs of streams without a process fail.
std::vector<RemoteStage::Group> RemoteStage::grouped(const Jobs& jobs) const {
  std::vector<Group> groups;
  for (ChunkJob* job : jobs) {
    Stream& stream = Group::stream(job);
    if (!settle(stream)) {
      job->fault = process_gone(name_);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.copy == stream.copy && g.epoch == stream.epoch;
    });
    if (group == groups.end()) {
      groups.push_back({stream.copy, stream.epoch});
      group = groups.end() - 1;
    }
    group->jobs.push_back(job);
  }
  return groups;
}

/// Opens the streams that are new in the process. For streams that moved to this process, also
/// repeats their earlier chunks: the first chunks of all such streams, then the second chunks, and
/// so on. Ignores the results, because clients already have them.
void RemoteStage::compute_again(const Group& group) const {
  std::string bytes;
  std::vector<Stream*> behind;
  size_t most = 0, count = 0;
  const double began_s = now_s();
  for (const ChunkJob* job : group.jobs) {
    Stream& stream = Group::stream(job);
    if (std::exchange(stream.opened, true)) continue;
    append_open(bytes, {stream.number, group.copy->node, stream.past.bundle()});
    behind.push_back(&stream);
    count += stream.past.chunks() > 0 ? 1 : 0;
    most = std::max(most, stream.past.chunks());
  }
  std::vector<std::shared_ptr<StageLink::Batch>> under_way;
  const auto wait = [&] {
    for (const auto& batch : under_way) (void)group.link().receive(*batch);
    under_way.clear();
  };
  for (size_t i = 0; i < most && group.link().epoch() == group.epoch; ++i) {
    std::erase_if(behind, [&](const Stream* s) { return s->past.chunks() <= i; });
    PushMessage push{.batch = group.link().new_number(), .node = group.copy->node, .jobs = {}};
    for (const Stream* stream : behind) {
      push.jobs.push_back(stream->past.chunk(i));
      push.jobs.back().stream = stream->number;
    }
    append_push(bytes, push);
    under_way.push_back(group.link().send(group.epoch, push.batch, std::exchange(bytes, {})));
    if (under_way.size() == kAhead) wait();
  }
  wait();
  const LinkOptions& options = group.link().options();
  if (!options.log) return;
  const auto ms = static_cast<int64_t>(1e3 * (now_s() - began_s));
  options.log(concat(options.address, ": computed ", count, " lost streams of ", name_,
                     " again in ", ms, " ms"));
}

void RemoteStage::send(Group& group) const {
  group.number = group.link().new_number();
  PushMessage push{.batch = group.number, .node = group.copy->node, .jobs = {}};
  std::string bytes;
  for (const ChunkJob* job : group.jobs) {
    Stream& stream = Group::stream(job);
    if (!std::exchange(stream.opened, true)) {
      append_open(bytes, {stream.number, group.copy->node, stream.past.bundle()});
    }
    push.jobs.push_back(pushed(*job));
  }
  append_push(bytes, push);
  group.batch = group.link().send(group.epoch, group.number, std::move(bytes));
}

/// Runs the jobs once; returns the jobs whose process was lost during the run.
RemoteStage::Jobs RemoteStage::attempt(const Jobs& jobs) const {
  std::vector<Group> groups = grouped(jobs);
  const auto behind = [](const Group& group) {
    return std::any_of(group.jobs.begin(), group.jobs.end(), [](const ChunkJob* job) {
      return !Group::stream(job).opened && Group::stream(job).past.chunks() > 0;
    });
  };
  // Streams that are computed again come last, so that other streams do not wait for them.
  const auto again = std::stable_partition(groups.begin(), groups.end(),
                                           [&](const Group& group) { return !behind(group); });
  for (auto group = groups.begin(); group != again; ++group) send(*group);
  for (auto group = again; group != groups.end(); ++group) {
    compute_again(*group);
    send(*group);
  }
  Jobs gone;
  for (const Group& group : groups) {
    Result<Message> answer = group.link().receive(*group.batch);
    try {
      if (answer.ok()) {
        take(answer.value().body, group);
        continue;
      }
    } catch (const LoadError& e) {
      group.link().drop(group.epoch, e.what());
    }
    for (const ChunkJob* job : group.jobs) Group::stream(job).lost = true;
    gone.insert(gone.end(), group.jobs.begin(), group.jobs.end());
  }
  return gone;
}

void RemoteStage::run(StepContext&, std::span<ChunkJob> jobs) const {
  constexpr int kAttempts = 2;
  Jobs left;
  for (ChunkJob& job : jobs) {
    job.made = 0;
    left.push_back(&job);
  }
  for (int i = 0; i < kAttempts && !left.empty(); ++i) left = attempt(left);
  for (ChunkJob* job : left) job->fault = process_gone(name_);
}

/// Reads the results from an answer. Throws LoadError if the answer does not fit the batch.
void RemoteStage::take(std::string_view body, const Group& group) const {
  const MadeMessage made = read_made(body);
  if (made.batch != group.number || made.jobs.size() != group.jobs.size()) {
    throw LoadError(concat("the answer is to another batch, or has ", made.jobs.size(), " of ",
                           group.jobs.size(), " chunks"));
  }
  const auto most = static_cast<uint64_t>(most_out());
  const auto width = static_cast<uint64_t>(out_width());
  for (size_t i = 0; i < group.jobs.size(); ++i) {
    const MadeJob& from = made.jobs[i];
    const auto fresh = static_cast<uint64_t>(group.jobs[i]->fresh);
    const uint64_t values = uint64_t{from.made} * width;
    if (!from.fault && (from.made > fresh * most || from.values.size() != values * sizeof(float))) {
      throw LoadError(concat("the answer has ", from.made, " frames in ", from.values.size(),
                             " bytes, which do not fit ", fresh, " input frames"));
    }
  }
  for (size_t i = 0; i < group.jobs.size(); ++i) {
    const MadeJob& from = made.jobs[i];
    ChunkJob& job = *group.jobs[i];
    if (from.fault) {
      job.fault = Error{ErrorCode::kInternal, "the stage '" + name_ + "': " + *from.fault};
      continue;
    }
    ByteReader(from.values, "values").array(job.out.first(uint64_t{from.made} * width));
    job.made = static_cast<int>(from.made);
    Stream& stream = Group::stream(&job);
    stream.past.add(pushed(job));
    here_.follow(*stream.here, job);
  }
}

}  // namespace syrinx
