#include "server/backend.h"

#include <utility>

namespace syrinx {
namespace {

class EngineBackend : public Backend {
 public:
  explicit EngineBackend(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  const PipelineInfo& info() const override { return engine_->pipeline().info(); }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    return engine_->submit(request, std::move(sink));
  }
  void cancel(RequestId id) override { engine_->cancel(id); }
  EngineStats stats() const override { return engine_->stats(); }
  const EngineMetrics* metrics() const override { return &engine_->metrics(); }

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::shared_ptr<Backend> make_backend(std::unique_ptr<Engine> engine) {
  return std::make_shared<EngineBackend>(std::move(engine));
}

}  // namespace syrinx
