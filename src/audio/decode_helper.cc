#include "audio/decode_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "audio/decode_wire.h"
#include "audio/helper_loop.h"
#include "audio/recording_libav.h"
#include "base/check.h"
#include "base/clock.h"

namespace syrinx {
namespace {

struct SocketPair {
  OwnedFd here, there;
};

std::optional<SocketPair> socket_pair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return SocketPair{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

/// Returns whether a character may occur in libav's names and in this program's messages.
bool is_plain(char c) { return c >= ' ' && c <= '~'; }

Error helper_gone() {
  return {ErrorCode::kOverloaded,
          "recordings cannot be decoded now: the process that decodes them was killed", "ref_audio",
          1};
}

}  // namespace

/// A recording that a child decodes. The child's messages are as untrusted as the file.
class DecodingApart : public Decoding {
 public:
  DecodingApart(const DecodeHelper& helper, std::string_view file, const RecordingLimits& limits)
      : helper_(helper), file_(file), limits_(limits) {}
  ~DecodingApart() override { end(); }

  Result<bool> read(size_t count, std::vector<float>& out) override;
  int sample_rate() const override { return info_.sample_rate; }
  const std::string& format() const override { return format_; }
  double claimed_s() const override { return info_.claimed_s; }

 private:
  /// Result of an operation that waits: success, past the deadline, or connection lost.
  enum class Went { kWell, kLate, kGone };
  std::optional<Error> begin();
  std::optional<Error> begin_again();
  Result<bool> read_once(size_t count, std::vector<float>& out);
  std::optional<Error> take_info(const DecodeMessageHead& head);
  std::optional<Error> take_samples(const DecodeMessageHead& head, std::vector<float>& out);
  std::optional<Error> take(void* to, size_t bytes) { return judge(receive(to, bytes)); }
  std::optional<Error> judge(Went went);
  Went wait_for(short what) const;
  Went receive(void* to, size_t bytes) const;
  Went give(const void* from, size_t bytes) const;
  Error died();
  Error nonsense() const {
    return bad_audio("the decoder of the recording sent an invalid answer");
  }
  Error late() const {
    return bad_audio(
        concat("decoding the recording took longer than ", limits_.max_decode_s, " s"));
  }
  /// Ends the child; returns its status, like waitpid().
  int end();

  const DecodeHelper& helper_;
  const std::string_view file_;
  const RecordingLimits limits_;
  OwnedFd socket_;
  DecodeHelper::Child child_;
  double deadline_s_ = 0;
  bool begun_ = false, done_ = false;
  bool orphaned_ = false;  // the helper that started the child has ended
  bool again_ = false;     // a second child decodes the file, after the first helper ended
  DecodeInfo info_;
  std::string format_;
  // Numbers of samples: decoded_ were received from this child, told_ returned to the reader.
  size_t decoded_ = 0, told_ = 0;
};

int DecodingApart::end() {
  socket_.reset();
  return child_.pid > 0 ? helper_.end_child(std::exchange(child_, {})) : -1;
}

DecodingApart::Went DecodingApart::wait_for(short what) const {
  while (true) {
    const double left_s = deadline_s_ - now_s();
    if (left_s <= 0) return Went::kLate;
    pollfd entry{socket_.get(), what, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min(left_s * 1e3 + 1, 1e6)));
    if (ready > 0) return Went::kWell;
    if (ready < 0 && errno != EINTR) return Went::kGone;
  }
}

DecodingApart::Went DecodingApart::receive(void* to, size_t bytes) const {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    if (const Went went = wait_for(POLLIN); went != Went::kWell) return went;
    const ssize_t got = recv(socket_.get(), at, bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Went::kGone;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return Went::kWell;
}

DecodingApart::Went DecodingApart::give(const void* from, size_t bytes) const {
  for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
    if (const Went went = wait_for(POLLOUT); went != Went::kWell) return went;
    const ssize_t put = send(socket_.get(), at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put <= 0) return Went::kGone;
    at += put;
    bytes -= static_cast<size_t>(put);
  }
  return Went::kWell;
}

std::optional<Error> DecodingApart::judge(Went went) {
  if (went == Went::kLate) return late();
  if (went == Went::kGone) return died();
  return {};
}

/// Returns the error for a socket that the child closed too early.
Error DecodingApart::died() {
  const int status = end();
  orphaned_ = status == -1;
  if (orphaned_) return helper_gone();
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) return late();
    if (signal != SIGKILL) {
      return bad_audio(concat("the recording crashed its decoder (", strsignal(signal), ")"));
    }
    return {ErrorCode::kInternal, "the decoder of the recording was killed", "ref_audio"};
  }
  if (WEXITSTATUS(status) == kNotConfined) {
    return {ErrorCode::kInternal, "the decoder's process cannot drop its rights", "ref_audio"};
  }
  return bad_audio("the decoder of the recording sent no answer");
}

std::optional<Error> DecodingApart::begin() {
  if (file_.empty()) return bad_audio("the recording is empty");
  if (file_.size() > limits_.max_bytes) return too_many_bytes(file_.size(), limits_.max_bytes);
  auto pair = socket_pair(SOCK_STREAM);
  if (!pair) return Error{ErrorCode::kOverloaded, "too many files are open", "ref_audio", 1};
  // Limit of processor time: far more than any format needs, because deadlines usually end a job.
  const auto cpu_s = static_cast<uint32_t>(std::ceil(limits_.max_decode_s + limits_.max_s / 20));
  child_ = helper_.begin_child(pair->there.get(), file_.size() + helper_.options_.memory_bytes,
                               cpu_s, false);
  // Closes this process's copy of the child's end. Otherwise give() would wait until the deadline
  // if the child ends before it has read the whole file.
  pair->there.reset();
  if (child_.pid < 0) return helper_gone();
  ++helper_.begun_;
  if (child_.pid == 0) {
    return Error{ErrorCode::kOverloaded,
                 "no further process can be started to decode the recording", "ref_audio", 1};
  }
  socket_ = std::move(pair->here);
  const DecodeJob job{file_.size(), limits_.max_s, limits_.max_decode_s, limits_.first_channel};
  Went went = give(&job, sizeof job);
  if (went == Went::kWell) went = give(file_.data(), file_.size());
  if (went == Went::kLate) return late();
  return {};  // also if the child has ended: read_once() returns the error that it sent
}

/// Restarts decoding in a child of another helper. Skips samples that the reader already has.
std::optional<Error> DecodingApart::begin_again() {
  again_ = true;
  orphaned_ = false;
  deadline_s_ = now_s() + limits_.max_decode_s;
  info_ = {};
  decoded_ = 0;
  return begin();
}

std::optional<Error> DecodingApart::take_info(const DecodeMessageHead& head) {
  constexpr size_t kMaxName = 100;
  if (info_.sample_rate != 0 || head.bytes < sizeof info_ || head.bytes > sizeof info_ + kMaxName) {
    return nonsense();
  }
  DecodeInfo info;
  if (auto error = take(&info, sizeof info)) return error;
  format_.resize(head.bytes - sizeof info);
  if (auto error = take(format_.data(), format_.size())) return error;
  const bool plain = std::all_of(format_.begin(), format_.end(), is_plain);
  if (!plain || info.sample_rate < kMinHz || info.sample_rate > kMaxHz ||
      !std::isfinite(info.claimed_s) || info.claimed_s < 0) {
    return nonsense();
  }
  info_ = info;
  return {};
}

std::optional<Error> DecodingApart::take_samples(const DecodeMessageHead& head,
                                                 std::vector<float>& out) {
  if (info_.sample_rate == 0 || head.bytes % sizeof(float) != 0) return nonsense();
  const size_t count = head.bytes / sizeof(float), before = out.size();
  decoded_ += count;
  if (static_cast<double>(decoded_) > limits_.max_s * info_.sample_rate) {
    return bad_audio(concat("the recording is longer than ", limits_.max_s, " s"));
  }
  out.resize(before + count);
  if (auto error = take(&out[before], head.bytes)) {
    out.resize(before);
    return error;
  }
  const bool numbers = std::all_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
                                   [](float sample) { return std::isfinite(sample); });
  if (!numbers) return nonsense();
  const size_t known = std::min(count, told_ - std::min(told_, decoded_ - count));
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(before);
  out.erase(first, first + static_cast<std::ptrdiff_t>(known));
  told_ = std::max(told_, decoded_);
  return {};
}

Result<bool> DecodingApart::read(size_t count, std::vector<float>& out) {
  if (done_) return false;
  deadline_s_ = now_s() + limits_.max_decode_s;
  const size_t before = out.size();
  Result<bool> more = read_once(count, out);
  if (more.ok() || !orphaned_ || again_) return more;
  if (auto error = begin_again()) return *error;
  return read_once(count - std::min(count, out.size() - before), out);
}

/// Reads from the current child.
Result<bool> DecodingApart::read_once(size_t count, std::vector<float>& out) {
  if (!std::exchange(begun_, true)) {
    if (auto error = begin()) return *error;
  }
  for (const size_t before = out.size(); out.size() - before < count;) {
    DecodeMessageHead head;
    if (auto error = take(&head, sizeof head)) return *error;
    if (head.bytes > kMaxDecodeMessage) return nonsense();
    std::optional<Error> error;
    switch (head.kind) {
      case DecodeMessage::kInfo:
        error = take_info(head);
        break;
      case DecodeMessage::kSamples:
        error = take_samples(head, out);
        break;
      case DecodeMessage::kFault: {
        std::string text(std::min<uint32_t>(head.bytes, 1000), '\0');
        error = take(text.data(), text.size());
        std::replace_if(
            text.begin(), text.end(), [](char c) { return !is_plain(c); }, '?');
        if (!error) error = bad_audio(text);
        break;
      }
      case DecodeMessage::kEnd:
        if (decoded_ == 0) return nonsense();
        done_ = true;
        end();
        return false;
      default:
        error = nonsense();
    }
    if (error) return *error;
  }
  return true;
}

// ---------------------------------------------------------------- DecodeHelper

std::unique_ptr<Decoding> DecodeHelper::decode(std::string_view file,
                                               const RecordingLimits& limits) const {
  return std::make_unique<DecodingApart>(*this, file, limits);
}

/// Sends a request, with `descriptor` unless it is negative. Returns -1 if the helper has ended.
int64_t DecodeHelper::ask(const void* request, size_t bytes, int descriptor) const {
  iovec data{const_cast<void*>(request), bytes};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  ssize_t done = 0;
  do {
    done = sendmsg(control_, &message, MSG_NOSIGNAL);
  } while (done < 0 && errno == EINTR);
  if (done < 0) return -1;
  int64_t answer = -1;
  do {
    done = recv(control_, &answer, sizeof answer, 0);
  } while (done < 0 && errno == EINTR);
  return done == sizeof answer ? answer : -1;
}

DecodeHelper::Child DecodeHelper::begin_child(int socket, uint64_t memory_bytes, uint32_t cpu_s,
                                              bool probe) const {
  const HelperRequest request{.kind = HelperRequest::kBegin,
                              .memory_bytes = memory_bytes,
                              .cpu_s = cpu_s,
                              .filter = options_.filter,
                              .must_filter = filtered_,
                              .probe = probe};
  const std::lock_guard lock(mutex_);
  auto pid = static_cast<pid_t>(ask(&request, sizeof request, socket));
  if (pid < 0 && start_again()) pid = static_cast<pid_t>(ask(&request, sizeof request, socket));
  return {pid, number_};
}

int DecodeHelper::end_child(const Child& child) const {
  const HelperRequest request{.kind = HelperRequest::kEnd, .child = child.pid};
  const std::lock_guard lock(mutex_);
  if (child.helper != number_) return -1;  // another process may have the child's pid now
  return static_cast<int>(ask(&request, sizeof request, -1));
}

bool DecodeHelper::start_again() const {
  if (options_.again.empty()) return false;
  if (pid_ > 0) kill(pid_, SIGKILL);
  stop();
  ++number_;
  auto pair = socket_pair(SOCK_SEQPACKET);
  if (!pair) return false;
  const pid_t pid = spawn_helper(options_.again, pair->there.get());
  if (pid < 0) return false;
  pid_ = pid;
  control_ = pair->here.release();
  return true;
}

/// Tests which confinement this machine permits.
void DecodeHelper::probe() {
  auto pair = socket_pair(SOCK_STREAM);
  const Child child =
      pair ? begin_child(pair->there.get(), options_.memory_bytes, 1, true) : Child();
  if (child.pid <= 0) throw LoadError("cannot start the process that decodes recordings");
  pair->there.reset();
  ProbeAnswer answer;
  const bool told = read_whole(pair->here.get(), &answer, sizeof answer);
  end_child(child);
  answer.text.back() = '\0';
  filtered_ = told && answer.filter;
  confinement_ = told ? answer.text.data() : "unknown";
  if (!told || !answer.limits) {
    throw LoadError(concat("recordings cannot be decoded in another process: ", confinement_));
  }
}

DecodeHelper::DecodeHelper(const DecodeHelperOptions& options) : options_(options) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw LoadError(
        concat("recordings cannot be decoded in another process: ", std::strerror(errno)));
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    run_helper_loop(ends[1], options_.instead);
  }
  close(ends[1]);
  control_ = ends[0];
  try {
    if (pid_ < 0) throw LoadError("cannot start the process that decodes recordings");
    probe();
  } catch (...) {
    stop();
    throw;
  }
}

DecodeHelper::~DecodeHelper() { stop(); }

pid_t DecodeHelper::pid() const {
  const std::lock_guard lock(mutex_);
  return pid_;
}

/// Ends the helper, which exits when its socket is closed.
void DecodeHelper::stop() const {
  if (control_ >= 0) close(std::exchange(control_, -1));
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void run_decode_helper() { run_helper_loop(kDecodeControl, nullptr); }

}  // namespace syrinx
