// Limits of the process. Main thread.
#pragma once

namespace syrinx {

/// Every connection needs a file descriptor, and the usual limit is small.
void allow_many_files();

}  // namespace syrinx
