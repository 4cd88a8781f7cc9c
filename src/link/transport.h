// How processes of a link reach each other: at the path of a Unix-domain socket (one host, one
// user), or at grpc://HOST:PORT (any host, with TLS and keys of both). What is carried, and which
// peer is greeted, does not depend on it.
#pragma once

#include <memory>
#include <string>

#include "link/socket.h"

namespace syrinx {

/// Files in PEM of one end of links between hosts: its certificate and key, and the certificates of
/// the authorities of the other end. All three or none; without them only this host is reached.
struct StageKeys {
  std::string certificate, key, authority;
};

/// "grpc://...", as opposed to a path.
bool is_between_hosts(const std::string& address);

/// Where a process listens for others. One thread.
class StageListener {
 public:
  virtual ~StageListener() = default;
  /// Can be read from while a caller waits.
  virtual int get() const = 0;
  /// The next caller, not blocking; none, or a stranger that was dropped: empty.
  virtual Connected accept() = 0;
  /// As others call it; the port is known, also where 0 was asked for.
  virtual std::string address() const = 0;
};

/// Throws LoadError naming the address: it cannot be listened at, keys are missing or of no use, or
/// this installation has no gRPC.
std::unique_ptr<StageListener> listen_at(const std::string& address, const StageKeys& keys = {});

/// Whether it can be tried at all to connect there. Throws LoadError: the address is invalid, keys
/// are missing or cannot be read, or this installation has no gRPC.
void check_address(const std::string& address, const StageKeys& keys);

/// Throws LoadError naming the address and what went wrong, after at most `seconds`. Reads
/// the keys again each time.
Connected connect_at(const std::string& address, const StageKeys& keys, double patience_s);

}  // namespace syrinx
