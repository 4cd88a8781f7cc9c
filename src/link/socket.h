// Unix-domain sockets of one host and one user. Peers of other users, except root, are refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "link/message.h"

namespace syrinx {

/// Owns a descriptor; -1 means none.
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

/// A listening socket at a path that only this user can open. It replaces a socket file of a dead
/// process. Throws LoadError if the path is too long, is used by a process, or is not a socket.
class ListeningSocket {
 public:
  explicit ListeningSocket(const std::string& path);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;
  int get() const { return fd_.get(); }
  /// Accepts the next peer without blocking. Empty if no peer waits, or if the peer was refused.
  Descriptor accept();

 private:
  std::string path_;
  Descriptor fd_;
};

/// Returns a connected, non-blocking socket. Throws LoadError with the path and the reason.
Descriptor connect_to(const std::string& path);

/// A connected, non-blocking stream socket. `carrier`, if set, carries the socket's bytes to
/// another host. The carrier ends after the socket is closed; its destructor waits for that.
struct Connected {
  std::shared_ptr<void> carrier;
  Descriptor fd;
};

/// Sends and receives messages over a connected, non-blocking socket. For one thread; another
/// thread may call flush() if calls of flush() do not overlap. All functions throw LoadError when
/// the peer has disconnected or sends an invalid message.
class MessageSocket {
 public:
  explicit MessageSocket(Connected connected) : connected_(std::move(connected)) {}
  explicit MessageSocket(Descriptor fd) : connected_{{}, std::move(fd)} {}
  int get() const { return connected_.fd.get(); }

  /// Reads all bytes that are available now.
  void fill();
  std::optional<Message> next(size_t most = kMostMessage) { return reader_.next(most); }
  /// Writes as many of `bytes` as possible without blocking, and removes them from `bytes`.
  void flush(std::string& bytes);

  /// Waits for the next message; empty after `timeout_s`, or when `wake` is set.
  std::optional<Message> wait_for(double timeout_s, size_t most, const WakeUp& wake);
  /// Writes all of `bytes`. Throws LoadError after `timeout_s`, or when `wake` is set.
  void send(std::string bytes, double timeout_s, const WakeUp& wake);

 private:
  Connected connected_;
  MessageReader reader_;
};

}  // namespace syrinx
