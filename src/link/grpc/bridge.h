// The interface between the program and the module that carries links between hosts
// (libsyrinx_grpc.so). The module connects a gRPC stream to a stream socket of this process. The
// code for messages and greetings is in link/ and does not depend on the transport. Plain C, so
// that the program needs no gRPC library to be built or to start.
#pragma once

#include <stddef.h>

extern "C" {

/// Contents of PEM files; null means no TLS.
struct SyrinxGrpcKeys {
  const char* certificate;
  const char* key;
  const char* authority;  ///< the authority that signed the certificates of peers
};

/// Functions that fail return null or -1. They write the reason to why[0, room), ended by a zero.
struct SyrinxGrpc {
  /// Connects to HOST:PORT within `patience_s` seconds. Writes the stream's non-blocking socket to
  /// *fd; the caller owns it. Closing the socket at either end ends the stream at both.
  void* (*connect)(const char* at, const SyrinxGrpcKeys* keys, double patience_s, int* fd,
                   char* why, size_t room);
  /// Waits until the stream has ended. Close the stream's socket before this call.
  void (*end_stream)(void* stream);

  void* (*listen)(const char* at, const SyrinxGrpcKeys* keys, char* why, size_t room);
  /// Returns the port of the listener, e.g. after a call with port 0.
  int (*port)(void* listener);
  /// Returns a descriptor that is readable while a peer waits to be accepted.
  int (*ready)(void* listener);
  /// Returns the socket of the next peer, which the caller then owns; -1 if no peer waits.
  int (*accept)(void* listener);
  /// Ends the listener and all of its streams.
  void (*end_listener)(void* listener);
};

/// The module's only symbol. The number in its name changes whenever this file changes.
const SyrinxGrpc* syrinx_grpc_1();
}
