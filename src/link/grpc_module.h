// The module that carries links between hosts (link/grpc/bridge.h). It is opened when it is first
// needed, from the program's directory or ../lib/syrinx. Any thread.
#pragma once

#include <optional>
#include <string>

#include "link/grpc/bridge.h"
#include "link/socket.h"

namespace syrinx {

/// Contents of PEM files.
struct PemKeys {
  std::string certificate, key, authority;
};

/// The loaded module and its functions.
class GrpcModule {
 public:
  /// Returns the module. Throws a LoadError that explains how to install it.
  static const GrpcModule& open();

  /// Owns a listener of the module.
  class Listening {
   public:
    Listening(const SyrinxGrpc& module, void* listener) : module_(&module), listener_(listener) {}
    ~Listening() { module_->end_listener(listener_); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    int ready() const { return module_->ready(listener_); }
    int port() const { return module_->port(listener_); }
    Descriptor accept() { return Descriptor(module_->accept(listener_)); }

   private:
    const SyrinxGrpc* module_;
    void* listener_;
  };

  // Both functions throw LoadError with `address` in the message. `at` is HOST:PORT. Without keys
  // the connection has no TLS.
  Listening listen(const std::string& address, const std::string& at,
                   const std::optional<PemKeys>& keys) const;
  Connected connect(const std::string& address, const std::string& at,
                    const std::optional<PemKeys>& keys, double patience_s) const;

 private:
  explicit GrpcModule(const SyrinxGrpc& functions) : functions_(functions) {}
  const SyrinxGrpc& functions_;
};

}  // namespace syrinx
