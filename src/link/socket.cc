#include "link/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"

namespace syrinx {
namespace {

[[noreturn]] void socket_failed(const std::string& path, const char* what) {
  throw LoadError(concat(path, ": ", what, ": ", std::strerror(errno)));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw LoadError(
        concat(path, ": the path of a socket has 1 to ", sizeof address.sun_path - 1, " bytes"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Descriptor new_socket(const std::string& path) {
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) socket_failed(path, "no socket");
  return fd;
}

bool is_stranger(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return true;
  return peer.uid != geteuid() && peer.uid != 0;
}

/// Waits until `fd` has one of `events`; returns false after `until_s` or when `wake` was set.
bool wait_until(int fd, short events, double until_s, const WakeUp& wake) {
  for (;;) {
    std::array<pollfd, 2> polled{{{fd, events, 0}, {wake.get(), POLLIN, 0}}};
    const double left_ms = std::clamp(std::ceil((until_s - now_s()) * 1e3), 0.0, 1e6);
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && now_s() < until_s) continue;  // poll() ended before the caller's timeout
    return ready > 0 && polled[1].revents == 0 && polled[0].revents != 0;
  }
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

WakeUp::WakeUp() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw LoadError(concat("eventfd: ", std::strerror(errno)));
}
void WakeUp::set() { eventfd_write(event_.get(), 1); }
void WakeUp::clear() {
  eventfd_t value;
  eventfd_read(event_.get(), &value);
}

ListeningSocket::ListeningSocket(const std::string& path) : path_(path), fd_(new_socket(path)) {
  const sockaddr_un address = address_of(path);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    path_.clear();  // the destructor then keeps the file
    if (!S_ISSOCK(there.st_mode)) throw LoadError(path + ": the file is not a socket");
    const Descriptor probe = new_socket(path);
    if (connect(probe.get(), name, sizeof address) == 0 || errno == EAGAIN) {
      throw LoadError(path + ": another process listens at this path");
    }
    unlink(path.c_str());
    path_ = path;
  }
  const mode_t before = umask(0177);
  const int bound = bind(fd_.get(), name, sizeof address);
  umask(before);
  if (bound != 0) {
    path_.clear();
    socket_failed(path, "cannot listen");
  }
  if (listen(fd_.get(), 16) != 0) socket_failed(path, "cannot listen");
}

ListeningSocket::~ListeningSocket() {
  if (!path_.empty()) unlink(path_.c_str());
}

Descriptor ListeningSocket::accept() {
  Descriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd && is_stranger(fd.get())) fd.reset();
  return fd;
}

Descriptor connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  Descriptor fd = new_socket(path);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    socket_failed(path, "no process listens at this path");
  }
  if (is_stranger(fd.get())) throw LoadError(path + ": its process belongs to another user");
  return fd;
}

void MessageSocket::fill() {
  std::array<char, size_t{64} << 10> buffer;
  for (;;) {
    const ssize_t got = recv(get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) throw LoadError(concat("the peer has disconnected: ", std::strerror(errno)));
    if (got == 0) throw LoadError("the peer has disconnected");
    reader_.push({buffer.data(), static_cast<size_t>(got)});
    if (static_cast<size_t>(got) < buffer.size()) return;
  }
}

void MessageSocket::flush(std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t sent = ::send(get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (sent < 0) throw LoadError(concat("the peer has disconnected: ", std::strerror(errno)));
    done += static_cast<size_t>(sent);
  }
  bytes.erase(0, done);
}

std::optional<Message> MessageSocket::wait_for(double timeout_s, size_t most, const WakeUp& wake) {
  const double until_s = now_s() + timeout_s;
  for (;;) {
    if (std::optional<Message> message = next(most)) return message;
    if (!wait_until(get(), POLLIN, until_s, wake)) return std::nullopt;
    fill();
  }
}

void MessageSocket::send(std::string bytes, double timeout_s, const WakeUp& wake) {
  const double until_s = now_s() + timeout_s;
  for (;;) {
    flush(bytes);
    if (bytes.empty()) return;
    if (!wait_until(get(), POLLOUT, until_s, wake)) {
      throw LoadError(concat("the peer stopped reading, ", bytes.size(), " bytes are unsent"));
    }
  }
}

}  // namespace syrinx
