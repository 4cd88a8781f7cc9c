// Chooses the models of a session of the Realtime API. Call from any thread.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "ears/ears.h"
#include "server/models/backend.h"

namespace syrinx {

class ModelTable;

struct RealtimeModels {
  std::shared_ptr<Backend> writer, speaker;
};
/// Returns the models for a session that was opened with ?model=NAME. Returns kNotFound for an
/// unknown model and kOverloaded for a model that is not loaded.
Result<RealtimeModels> realtime_models(ModelTable& models, const Ears& ears,
                                       const std::string& name);

}  // namespace syrinx
