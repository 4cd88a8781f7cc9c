#include "audio/decode_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "audio/confinement.h"
#include "audio/decode_wire.h"
#include "audio/recording_libav.h"
#include "base/check.h"
#include "base/clock.h"

namespace syrinx {
namespace {

constexpr int kNotConfined = 3;  // how a child ends that could not be confined

/// From the server to its helper, with the child's socket when one is to begin; answered with a
/// number.
struct HelperRequest {
  enum Kind : int32_t { kBegin, kEnd } kind = kBegin;
  pid_t child = -1;  ///< to end
  uint64_t memory_bytes = 0;
  uint32_t cpu_s = 0;
  bool filter = true;        ///< use one if possible
  bool must_filter = false;  ///< end without one
  bool probe = false;        ///< only tell how it is confined
};

/// What a child tells that was begun for that.
struct ProbeAnswer {
  bool limits = false, filter = false;
  std::array<char, 200> text = {};
};

class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  void reset() { *this = OwnedFd(); }

 private:
  int fd_;
};

struct SocketPair {
  OwnedFd here, there;
};

std::optional<SocketPair> socket_pair(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return SocketPair{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

// ---------------------------------------------------------------------------- the helper's side

/// Its own life: one thread, until the other end of `control` is closed.
class HelperLoop {
 public:
  HelperLoop(int control, const DecodeHelperOptions& options)
      : control_(control), options_(options) {}

  [[noreturn]] void run();

 private:
  int64_t answer(const HelperRequest& request, int socket);
  pid_t begin(const HelperRequest& request, int socket);
  [[noreturn]] void be_child(const HelperRequest& request, int socket, pid_t parent);

  const int control_;
  const DecodeHelperOptions options_;
};

/// Keeps nothing of the process that it was forked from but its code and `control`.
void leave_the_server(int control) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    explicit_bzero(*entry, std::strlen(*entry));  // keys may be there
  }
  clearenv();
  // The server ends it, also after Ctrl-C in a terminal that they share.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    std::signal(signal, SIG_IGN);
  }
  std::signal(SIGCHLD, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "syrinx-decode", 0, 0, 0);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) {
    if (fd != control) dup2(null, fd);
  }
  if (control > 3) close_range(3, static_cast<unsigned>(control) - 1, 0);
  close_range(static_cast<unsigned>(std::max(control, 2)) + 1, ~0U, 0);
}

void HelperLoop::run() {
  leave_the_server(control_);
  while (true) {
    HelperRequest request;
    iovec data{&request, sizeof request};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const ssize_t got = recvmsg(control_, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    // The kernel ends the children when their parent ends.
    if (got != static_cast<ssize_t>(sizeof request)) _exit(0);
    OwnedFd socket;
    if (const cmsghdr* head = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
      socket = OwnedFd(fd);
    }
    const int64_t reply = answer(request, socket.get());
    if (send(control_, &reply, sizeof reply, MSG_NOSIGNAL) < 0) _exit(0);
  }
}

int64_t HelperLoop::answer(const HelperRequest& request, int socket) {
  if (request.kind == HelperRequest::kBegin) return begin(request, socket);
  // A child that has ended waits here for this, so the number is its own.
  kill(request.child, SIGKILL);
  int status = 0;
  while (waitpid(request.child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

pid_t HelperLoop::begin(const HelperRequest& request, int socket) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) be_child(request, socket, parent);
  return child;
}

void HelperLoop::be_child(const HelperRequest& request, int socket, pid_t parent) {
  close(control_);
  const Confinement holds = confine(
      socket, parent,
      {.memory_bytes = request.memory_bytes, .cpu_s = request.cpu_s, .filter = request.filter});
  if (request.probe) {
    ProbeAnswer answer{.limits = holds.limits, .filter = holds.filter};
    const std::string text = holds.text();
    text.copy(answer.text.data(), answer.text.size() - 1);
    write_whole(socket, &answer, sizeof answer);
    _exit(0);
  }
  if (!holds.limits || (request.must_filter && !holds.filter)) _exit(kNotConfined);
  (options_.instead != nullptr ? options_.instead : run_decode_job)(socket);
  _exit(0);
}

// ---------------------------------------------------------------------------- the server's side

/// What libav's names and our messages are made of.
bool is_plain(char c) { return c >= ' ' && c <= '~'; }

Error helper_gone() {
  return {ErrorCode::kInternal, "the helper that decodes recordings is gone", "ref_audio"};
}

}  // namespace

/// One recording in a child. What the child says is as doubtful as the file.
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
  /// How something went that takes time.
  enum class Went { kWell, kLate, kGone };
  std::optional<Error> begin();
  std::optional<Error> take_info(const DecodeMessageHead& head);
  std::optional<Error> take_samples(const DecodeMessageHead& head, std::vector<float>& out);
  std::optional<Error> take(void* to, size_t bytes) { return judge(receive(to, bytes)); }
  std::optional<Error> judge(Went went);
  Went wait_for(short what) const;
  Went receive(void* to, size_t bytes) const;
  Went give(const void* from, size_t bytes) const;
  Error died();
  Error nonsense() const {
    return bad_audio("the recording made its decoder say what makes no sense");
  }
  Error late() const {
    return bad_audio(
        concat("decoding the recording took longer than ", limits_.max_decode_s, " s"));
  }
  /// As waitpid() tells it.
  int end();

  const DecodeHelper& helper_;
  const std::string_view file_;
  const RecordingLimits limits_;
  OwnedFd socket_;
  pid_t child_ = -1;
  double deadline_s_ = 0;
  bool begun_ = false, done_ = false;
  DecodeInfo info_;
  std::string format_;
  size_t decoded_ = 0;
};

int DecodingApart::end() {
  socket_.reset();
  return child_ > 0 ? helper_.end_child(std::exchange(child_, -1)) : -1;
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

/// The socket ended in the middle.
Error DecodingApart::died() {
  const int status = end();
  if (status == -1) return helper_gone();
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) return late();
    if (signal != SIGKILL) {
      return bad_audio(concat("the recording broke its decoder (", strsignal(signal), ")"));
    }
    return {ErrorCode::kInternal, "the decoder of the recording was killed", "ref_audio"};
  }
  if (WEXITSTATUS(status) == kNotConfined) {
    return {ErrorCode::kInternal, "the decoder of the recording cannot be confined", "ref_audio"};
  }
  return bad_audio("the decoder of the recording ended too early");
}

std::optional<Error> DecodingApart::begin() {
  if (file_.empty()) return bad_audio("the recording is empty");
  if (file_.size() > limits_.max_bytes) return too_many_bytes(file_.size(), limits_.max_bytes);
  auto pair = socket_pair(SOCK_STREAM);
  if (!pair) return Error{ErrorCode::kOverloaded, "too many files are open", "ref_audio", 1};
  // Far more than any format needs; the deadlines are what is felt.
  const auto cpu_s = static_cast<uint32_t>(std::ceil(limits_.max_decode_s + limits_.max_s / 20));
  child_ = helper_.begin_child(pair->there.get(), file_.size() + helper_.options_.memory_bytes,
                               cpu_s, false);
  if (child_ < 0) return helper_gone();
  ++helper_.begun_;
  if (child_ == 0) {
    return Error{ErrorCode::kOverloaded, "there is no process left to decode in", "ref_audio", 1};
  }
  socket_ = std::move(pair->here);
  const DecodeJob job{file_.size(), limits_.max_s, limits_.max_decode_s};
  if (auto error = judge(give(&job, sizeof job))) return error;
  return judge(give(file_.data(), file_.size()));
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
  if (auto error = take(&out[before], head.bytes)) return error;
  const bool numbers = std::all_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(),
                                   [](float sample) { return std::isfinite(sample); });
  if (!numbers) return nonsense();
  return {};
}

Result<bool> DecodingApart::read(size_t count, std::vector<float>& out) {
  if (done_) return false;
  deadline_s_ = now_s() + limits_.max_decode_s;
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

// ---------------------------------------------------------------------------- front

std::unique_ptr<Decoding> DecodeHelper::decode(std::string_view file,
                                               const RecordingLimits& limits) const {
  return std::make_unique<DecodingApart>(*this, file, limits);
}

/// The answer; -1: nobody is there.
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
  const std::lock_guard lock(mutex_);
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

pid_t DecodeHelper::begin_child(int socket, uint64_t memory_bytes, uint32_t cpu_s,
                                bool probe) const {
  const HelperRequest request{.kind = HelperRequest::kBegin,
                              .memory_bytes = memory_bytes,
                              .cpu_s = cpu_s,
                              .filter = options_.filter,
                              .must_filter = filtered_,
                              .probe = probe};
  return static_cast<pid_t>(ask(&request, sizeof request, socket));
}

int DecodeHelper::end_child(pid_t child) const {
  const HelperRequest request{.kind = HelperRequest::kEnd, .child = child};
  return static_cast<int>(ask(&request, sizeof request, -1));
}

/// What the machine permits is known by trying.
void DecodeHelper::probe() {
  auto pair = socket_pair(SOCK_STREAM);
  const pid_t child = pair ? begin_child(pair->there.get(), options_.memory_bytes, 1, true) : 0;
  if (child <= 0) throw LoadError("recordings cannot be decoded apart: no process for it");
  pair->there.reset();
  ProbeAnswer answer;
  const bool told = read_whole(pair->here.get(), &answer, sizeof answer);
  end_child(child);
  answer.text.back() = '\0';
  filtered_ = told && answer.filter;
  confinement_ = told ? answer.text.data() : "unknown";
  if (!told || !answer.limits) {
    throw LoadError(concat("recordings cannot be decoded apart: ", confinement_));
  }
}

DecodeHelper::DecodeHelper(const DecodeHelperOptions& options) : options_(options) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw LoadError(concat("recordings cannot be decoded apart: ", std::strerror(errno)));
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    HelperLoop(ends[1], options_).run();
  }
  close(ends[1]);
  control_ = ends[0];
  try {
    if (pid_ < 0) throw LoadError("recordings cannot be decoded apart: no process for it");
    probe();
  } catch (...) {
    stop();
    throw;
  }
}

DecodeHelper::~DecodeHelper() { stop(); }

void DecodeHelper::stop() {
  close(control_);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace syrinx
