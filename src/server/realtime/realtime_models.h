// Which models take part in a session of the Realtime API. Any thread.
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
/// Returns the models of a session that was opened with ?model=NAME. kNotFound: no model has the
/// name; kOverloaded: not loaded at the moment.
Result<RealtimeModels> realtime_models(ModelTable& models, const Ears& ears,
                                       const std::string& name);

}  // namespace syrinx
