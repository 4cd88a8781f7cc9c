#include "server/realtime/realtime_models.h"

#include <string_view>

#include "server/models/model_table.h"
#include "server/models/vendor_names.h"

namespace syrinx {
namespace {

/// Returns whether `name` is OpenAI's name of a realtime model, and so stands for any loaded model.
bool is_vendor_realtime(std::string_view name) {
  return name.starts_with("gpt-") && name.find("realtime") != name.npos;
}

}  // namespace

Result<RealtimeModels> realtime_models(ModelTable& models, const Ears& ears,
                                       const std::string& name) {
  RealtimeModels out;
  const bool any = name.empty() || is_vendor_realtime(name) || is_vendor_model(name) ||
                   (!models.look_up(name) && ears.find(name).ok());
  if (!any) {
    auto named = models.find(name);
    if (!named) return named.error();
    const std::shared_ptr<Backend> backend = named.take();
    if (!backend) return models.not_loaded(name);
    if (backend->info().writes) out.writer = backend;
    if (backend->info().speaks) out.speaker = backend;
  }
  for (const ModelTable::Entry& entry : models.list()) {
    if (!entry.backend) continue;
    const PipelineInfo& info = entry.backend->info();
    const bool writes = info.writes && !out.writer;
    const bool speaks = info.speaks && !info.writes && !out.speaker;
    if (!writes && !speaks) continue;
    auto used = models.find(entry.name);  // find() marks the model as used
    if (!used || !used.value()) continue;
    if (writes) out.writer = used.value();
    if (speaks) out.speaker = used.value();
  }
  if (!out.speaker && out.writer && out.writer->info().speaks) out.speaker = out.writer;
  return out;
}

}  // namespace syrinx
