// Unix-domain sockets of one host and one user. A peer of another user, root apart, is a stranger.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "link/message.h"

namespace syrinx {

/// Owns a descriptor; -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(), fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// Wakes a thread that waits in wait_for(). Any thread may set it.
class WakeUp {
 public:
  WakeUp();
  void set();
  void clear();
  int get() const { return event_.get(); }

 private:
  Descriptor event_;
};

/// A listening socket at a path, which only this user can open. A file that a dead process left is
/// replaced. Throws LoadError: the path is too long, taken by a living process or no socket.
class ListeningSocket {
 public:
  explicit ListeningSocket(const std::string& path);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  int get() const { return fd_.get(); }
  /// The next caller, not blocking; none, or a stranger that was dropped: empty.
  Descriptor accept();

 private:
  std::string path_;
  Descriptor fd_;
};

/// Throws LoadError naming the path and what went wrong. The socket does not block.
Descriptor connect_to(const std::string& path);

/// A connected stream socket that does not block, and what carries it, if anything does; that ends
/// when the socket is closed, and is waited for.
struct Connected {
  std::shared_ptr<void> carrier;
  Descriptor fd;
};

/// Messages over a connected socket that does not block. One thread; others may flush() if no two
/// do so at once. Everything throws LoadError when the peer went away or what it sends is no
/// message.
class MessageSocket {
 public:
  explicit MessageSocket(Connected connected) : connected_(std::move(connected)) {}
  explicit MessageSocket(Descriptor fd) : connected_{{}, std::move(fd)} {}
  int get() const { return connected_.fd.get(); }

  /// Takes what can be read now.
  void fill();
  std::optional<Message> next(size_t most = kMostMessage) { return reader_.next(most); }
  /// Writes as much as goes and removes it from `bytes`.
  void flush(std::string& bytes);

  /// Waits for the next message; none after `timeout_s`, or when `wake` was set.
  std::optional<Message> wait_for(double timeout_s, size_t most, const WakeUp& wake);
  /// Writes all of it, within `timeout_s`.
  void send(std::string bytes, double timeout_s, const WakeUp& wake);

 private:
  Connected connected_;
  MessageReader reader_;
};

}  // namespace syrinx
