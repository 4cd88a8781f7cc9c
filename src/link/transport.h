// How the processes of a link connect: at the path of a Unix-domain socket (one host, one user), or
// at grpc://HOST:PORT (any host, with TLS and keys on both sides). Both use the same messages and
// greetings.
#pragma once

#include <memory>
#include <string>

#include "link/socket.h"

namespace syrinx {

/// Paths of PEM files for links between hosts: certificate and key of this end, and the
/// certificates of the authorities of the other end. Give all three or none. Without them, links
/// reach only this host.
struct StageKeys {
  std::string certificate, key, authority;
};

/// Returns whether the address begins with "grpc://"; other addresses are paths.
bool is_between_hosts(const std::string& address);

/// Listens for peers at an address. One thread.
class StageListener {
 public:
  virtual ~StageListener() = default;
  /// Returns a descriptor that is readable while a peer waits.
  virtual int get() const = 0;
  /// Accepts the next peer without blocking. Empty if no peer waits, or if the peer was refused.
  virtual Connected accept() = 0;
  /// Returns the address to which peers connect. It has the real port if port 0 was requested.
  virtual std::string address() const = 0;
};

/// Listens at an address. Throws LoadError with the address if it cannot listen, if keys are
/// missing or invalid, or if this installation lacks the gRPC module.
std::unique_ptr<StageListener> listen_at(const std::string& address, const StageKeys& keys = {});

/// Checks an address without connecting. Throws LoadError if the address is invalid, if keys are
/// missing or unreadable, or if this installation lacks the gRPC module.
void check_address(const std::string& address, const StageKeys& keys);

/// Connects within `patience_s` seconds. Throws LoadError with the address and the reason. Reads
/// the keys again for each call.
Connected connect_at(const std::string& address, const StageKeys& keys, double patience_s);

}  // namespace syrinx
