#include "tensor/context.h"

#include <algorithm>

namespace syrinx {
namespace {
constexpr size_t kAlign = 64;
constexpr size_t kFirstBlock = 1u << 20;

template <typename T>
void fetch_numbers(StepContext& ctx, const View& from, const T* data, std::span<T> host) {
  SYRINX_CHECK(from.count() == static_cast<int64_t>(host.size()), "[fetch] ", from.shape.str(),
               " does not fit ", host.size(), " numbers");
  if (ctx.device == Device::kCpu) {
    std::copy_n(data, host.size(), host.begin());
  } else if (!host.empty()) {
    ctx.stream->download(data, host.data(), host.size_bytes());
  }
}

}  // namespace

View Arena::take(Shape shape, DType dtype) {
  View view{nullptr, dtype, shape, device_};
  const size_t need = (std::max<size_t>(view.bytes(), 1) + kAlign - 1) / kAlign * kAlign;
  while (block_ < blocks_.size() && used_ + need > blocks_[block_].bytes()) ++block_, used_ = 0;
  if (block_ == blocks_.size()) {
    const size_t size = std::max({need, kFirstBlock, capacity()});
    blocks_.emplace_back(Shape{static_cast<int64_t>(size)}, DType::kU8, device_);
    used_ = 0;
  }
  view.data = static_cast<char*>(blocks_[block_].view().data) + used_;
  used_ += need;
  return view;
}

void Arena::reset() {
  // Device blocks are never merged, because recorded steps (Stream::repeat) contain their
  // addresses.
  if (blocks_.size() > 1 && device_ == Device::kCpu) {
    const size_t total = capacity();
    blocks_.clear();
    blocks_.emplace_back(Shape{static_cast<int64_t>(total)}, DType::kU8, device_);
  }
  block_ = used_ = 0;
}

size_t Arena::capacity() const {
  size_t total = 0;
  for (const Tensor& block : blocks_) total += block.bytes();
  return total;
}

View upload(StepContext& ctx, const View& host) {
  if (ctx.device == Device::kCpu || host.device == ctx.device) return host;
  if (void* there = ctx.stream->staged(host.data, host.bytes()))
    return {there, host.dtype, host.shape, ctx.device};
  const View to = ctx.arena.take(host.shape, host.dtype);
  if (host.count() > 0) ctx.stream->upload(host.data, to.data, host.bytes());
  return to;
}

void store(StepContext& ctx, std::span<const float> host, const View& to) {
  SYRINX_CHECK(to.count() == static_cast<int64_t>(host.size()), "[store] ", host.size(),
               " numbers do not fit ", to.shape.str());
  if (ctx.device == Device::kCpu) {
    std::copy(host.begin(), host.end(), to.f32());
  } else if (!host.empty()) {
    ctx.stream->upload(host.data(), to.f32(), host.size_bytes());
  }
}

void fetch(StepContext& ctx, const View& from, std::span<float> host) {
  fetch_numbers(ctx, from, from.f32(), host);
}
void fetch(StepContext& ctx, const View& from, std::span<int32_t> host) {
  fetch_numbers(ctx, from, from.i32(), host);
}

void synchronize(StepContext& ctx) {
  if (ctx.stream) ctx.stream->synchronize();
}

Workspace::Workspace(ThreadPool& pool, Device device, StreamPriority priority)
    : arena_(device),
      stream_(device == Device::kCpu ? nullptr : Stream::create(device, priority)),
      ctx_(stream_ ? StepContext(pool, arena_, host_, *stream_) : StepContext(pool, arena_)) {}

void Workspace::reset() {
  arena_.reset();
  host_.reset();
}

}  // namespace syrinx
