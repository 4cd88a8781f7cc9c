// Raises the limit of open files. Main thread.
#pragma once

namespace syrinx {

/// Raises the limit of open files: every connection needs a descriptor, and the usual limit is low.
/// Returns the new limit.
int allow_many_files();

}  // namespace syrinx
