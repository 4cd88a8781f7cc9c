// The gRPC implementation of bridge.h. It has one method, whose messages are pieces of the byte
// stream; an empty message ends the stream. Each direction of each stream has a thread. It reads a
// piece from gRPC only when the socket has accepted the previous piece, so HTTP/2's windows bound
// the bytes in transit.
#include "link/grpc/bridge.h"

#include <fcntl.h>
#include <grpc/support/log.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/method_handler_impl.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using grpc::ByteBuffer;

constexpr const char* kMethod = "/syrinx.Stages/Link";
constexpr size_t kPiece = size_t{64} << 10;
constexpr int kMostPiece = 1 << 20;          // largest message from a peer, in bytes
constexpr int kMostThreads = 128;            // threads of the server, at most four per stream
constexpr size_t kMostWaiting = 16;          // peers that are not accepted yet
constexpr int kPing_ms = 5000;               // a peer that is silent for twice this time is lost
constexpr std::chrono::seconds kGoodbye(1);  // time for the other side to end, too

void report(char* why, size_t room, const std::string& text) {
  if (room == 0) return;
  const size_t size = std::min(room - 1, text.size());
  text.copy(why, size);
  why[size] = '\0';
}

bool send_all(int fd, const ByteBuffer& piece) {
  std::vector<grpc::Slice> slices;
  if (!piece.Dump(&slices).ok()) return false;
  for (const grpc::Slice& slice : slices) {
    for (size_t done = 0; done < slice.size();) {
      const ssize_t sent = send(fd, slice.begin() + done, slice.size() - done, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      done += static_cast<size_t>(sent);
    }
  }
  return true;
}

/// Carries bytes in both directions until one side ends. Then closes `fd`, a blocking socket.
template <typename Stream>
void carry(Stream& stream, int fd, const std::function<void()>& cancel) {
  std::mutex mutex;
  std::condition_variable changed;
  bool heard_all = false;
  std::thread inwards([&] {
    ByteBuffer piece;
    while (stream.Read(&piece) && piece.Length() > 0 && send_all(fd, piece)) piece.Clear();
    shutdown(fd, SHUT_RDWR);
    const std::lock_guard lock(mutex);
    heard_all = true;
    changed.notify_all();
  });
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const grpc::Slice slice(buffer.data(), static_cast<size_t>(got));
    if (!stream.Write(ByteBuffer(&slice, 1))) break;
  }
  shutdown(fd, SHUT_RDWR);
  const grpc::Slice nothing;
  // An empty message, not a cancel, ends the stream: a cancel might overtake earlier bytes.
  stream.Write(ByteBuffer(&nothing, 1));
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kGoodbye, [&] { return heard_all; });
    if (!heard_all) cancel();
  }
  inwards.join();
  close(fd);
}

/// Makes the two ends of a stream socket: `program`, which is non-blocking, and `mine`, for
/// carry().
bool socket_pair(int& program, int& mine) {
  int both[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0) return false;
  program = both[0], mine = both[1];
  fcntl(program, F_SETFL, O_NONBLOCK);
  return true;
}

grpc::SslServerCredentialsOptions server_tls(const SyrinxGrpcKeys& keys) {
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_key_cert_pairs.push_back({keys.key, keys.certificate});
  tls.pem_root_certs = keys.authority;
  return tls;
}

// ---------------------------------------------------------------------------- the caller

class OutgoingStream {
 public:
  OutgoingStream(const char* at, const SyrinxGrpcKeys* keys, int fd) : fd_(fd) {
    grpc::ChannelArguments arguments;
    // Attempts share no state of gRPC (no back-off): the link decides when to retry.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPing_ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPing_ms);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetMaxReceiveMessageSize(kMostPiece);
    channel_ = grpc::CreateCustomChannel(
        at,
        keys ? grpc::SslCredentials({keys->authority, keys->key, keys->certificate})
             : grpc::InsecureChannelCredentials(),
        arguments);
    thread_ = std::thread([this] { run(); });
  }
  ~OutgoingStream() {
    context_.TryCancel();
    thread_.join();
  }

  /// Waits until the other side has accepted the stream. Returns the reason on failure, or an empty
  /// string.
  std::string wait(double patience_s) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(patience_s),
                      [&] { return taken_ || ended_; });
    if (taken_) return {};
    return ended_ ? status_.error_message() : "the process does not answer";
  }
  /// Waits at most 2 s until the stream has ended, which closing its socket causes.
  void end() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 2 * kGoodbye, [&] { return ended_; });
  }

 private:
  using Stream = grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>;

  void run() {
    // Does the work of generated code for `rpc Link(stream bytes) returns (stream bytes)`.
    const grpc::internal::RpcMethod method(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING);
    const std::unique_ptr<Stream> stream(
        grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>::Create(
            channel_.get(), method, &context_));
    stream->WaitForInitialMetadata();
    // If the stream has failed, the server's metadata are missing.
    if (context_.GetServerInitialMetadata().count("syrinx") > 0) {
      {
        const std::lock_guard lock(mutex_);
        taken_ = true;
        changed_.notify_all();
      }
      carry(*stream, fd_, [this] { context_.TryCancel(); });
    } else {
      context_.TryCancel();
      close(fd_);
    }
    const grpc::Status status = stream->Finish();
    const std::lock_guard lock(mutex_);
    status_ = status;
    ended_ = true;
    changed_.notify_all();
  }

  const int fd_;
  grpc::ClientContext context_;
  std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false, ended_ = false;
  grpc::Status status_;
  std::thread thread_;
};

void* connect_stream(const char* at, const SyrinxGrpcKeys* keys, double patience_s, int* fd,
                     char* why, size_t room) try {
  int program = -1, mine = -1;
  if (!socket_pair(program, mine)) {
    report(why, room, "no sockets");
    return nullptr;
  }
  auto stream = std::make_unique<OutgoingStream>(at, keys, mine);
  if (const std::string fault = stream->wait(patience_s); !fault.empty()) {
    close(program);
    report(why, room, fault);
    return nullptr;
  }
  *fd = program;
  return stream.release();
} catch (const std::exception& e) {
  report(why, room, e.what());
  return nullptr;
}

void end_stream(void* stream) {
  const std::unique_ptr<OutgoingStream> ending(static_cast<OutgoingStream*>(stream));
  ending->end();
}

// ---------------------------------------------------------------------------- the listener

class Listener : public grpc::Service {
 public:
  Listener() : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
        new grpc::internal::BidiStreamingHandler<Listener, ByteBuffer, ByteBuffer>(
            [](Listener* self, grpc::ServerContext* context, Stream* stream) {
              return self->take(*context, *stream);
            },
            this)));
  }
  ~Listener() override {
    if (server_) {
      server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
      server_->Wait();
    }
    for (const int fd : waiting_) close(fd);
    close(ready_);
  }

  /// Starts to listen; returns false if it cannot listen at that address.
  bool start(const char* at, const SyrinxGrpcKeys* keys) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(
        at,
        keys ? grpc::SslServerCredentials(server_tls(*keys)) : grpc::InsecureServerCredentials(),
        &port_);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPing_ms);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPing_ms);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 8);
    builder.SetMaxReceiveMessageSize(kMostPiece);
    grpc::ResourceQuota quota("stages");
    quota.SetMaxThreads(kMostThreads);
    builder.SetResourceQuota(quota);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    return server_ && port_ > 0;
  }

  int port() const { return port_; }
  int ready() const { return ready_; }
  int accept() {
    const std::lock_guard lock(mutex_);
    eventfd_t count;
    if (waiting_.size() <= 1) eventfd_read(ready_, &count);
    if (waiting_.empty()) return -1;
    const int fd = waiting_.front();
    waiting_.pop_front();
    return fd;
  }

 private:
  using Stream = grpc::ServerReaderWriter<ByteBuffer, ByteBuffer>;

  grpc::Status take(grpc::ServerContext& context, Stream& stream) {
    int program = -1, mine = -1;
    if (!socket_pair(program, mine)) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "no sockets"};
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= kMostWaiting) {
        close(program), close(mine);
        return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many callers"};
      }
      waiting_.push_back(program);
      eventfd_write(ready_, 1);
    }
    context.AddInitialMetadata("syrinx", "stages");
    stream.SendInitialMetadata();
    carry(stream, mine, [&context] { context.TryCancel(); });
    return grpc::Status::OK;
  }

  const int ready_;
  int port_ = 0;
  std::mutex mutex_;
  std::deque<int> waiting_;
  std::unique_ptr<grpc::Server> server_;
};

void* listen_at(const char* at, const SyrinxGrpcKeys* keys, char* why, size_t room) try {
  auto listener = std::make_unique<Listener>();
  if (listener->start(at, keys)) return listener.release();
  report(why, room, "cannot listen at this address, or the certificate or the key is invalid");
  return nullptr;
} catch (const std::exception& e) {
  report(why, room, e.what());
  return nullptr;
}

constexpr SyrinxGrpc kBridge{
    connect_stream,
    end_stream,
    listen_at,
    [](void* listener) { return static_cast<Listener*>(listener)->port(); },
    [](void* listener) { return static_cast<Listener*>(listener)->ready(); },
    [](void* listener) { return static_cast<Listener*>(listener)->accept(); },
    [](void* listener) { delete static_cast<Listener*>(listener); }};

}  // namespace

const SyrinxGrpc* syrinx_grpc_1() {
  // Callers of this module receive error messages. gRPC's own log is off; any peer could fill it.
  if (!std::getenv("GRPC_VERBOSITY")) gpr_set_log_function([](gpr_log_func_args*) {});
  return &kBridge;
}
