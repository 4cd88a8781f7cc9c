#include "io/being_written.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace syrinx {

bool is_being_written(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return true;  // not readable, so it belongs to another user
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  return locked;
}

}  // namespace syrinx
