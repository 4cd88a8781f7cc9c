#include "io/abandoned.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace syrinx {

void remove_abandoned_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;  // not readable, so it belongs to another user
  // While this process holds the lock, no other process removes the file, so the path can have no
  // newer file. Before the lock was taken, it could.
  struct stat locked {
  }, there{};
  const bool ours = ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &locked) == 0 &&
                    ::lstat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino &&
                    locked.st_dev == there.st_dev;
  if (ours) ::unlink(path.c_str());
  ::close(fd);
}

}  // namespace syrinx
