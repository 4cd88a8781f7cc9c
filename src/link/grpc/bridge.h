// What the program and the module that carries links between hosts (libsyrinx_grpc.so) know of each
// other. The module makes of a gRPC stream a connected stream socket of this process; messages,
// greeting and everything else stay in link/, whatever carries them. Plain C, so that the
// program needs no library of gRPC's, neither to be built nor to start.
#pragma once

#include <stddef.h>

extern "C" {

/// Contents in PEM; null: without TLS.
struct SyrinxGrpcKeys {
  const char* certificate;
  const char* key;
  const char* authority;  ///< the authority that signed the certificates of those at the other end
};

/// Functions that fail give null or -1 and write why, ended by a zero, into why[0, room).
struct SyrinxGrpc {
  /// Connects to HOST:PORT within `seconds`; returns the stream's socket, which is the caller's and
  /// does not block, in *fd. Both ends of the stream end when either socket is closed.
  void* (*connect)(const char* at, const SyrinxGrpcKeys* keys, double patience_s, int* fd,
                   char* why, size_t room);
  /// Waits until all of it has ended; the socket has been closed before.
  void (*end_stream)(void* stream);

  void* (*listen)(const char* at, const SyrinxGrpcKeys* keys, char* why, size_t room);
  /// The port, for callers that asked for port 0.
  int (*port)(void* listener);
  /// Can be read from while a caller waits to be accepted.
  int (*ready)(void* listener);
  /// The socket of the next caller, which is the caller's; -1: none waits.
  int (*accept)(void* listener);
  /// Ends all streams.
  void (*end_listener)(void* listener);
};

/// The module's only symbol; the number changes with this page.
const SyrinxGrpc* syrinx_grpc_1();
}
