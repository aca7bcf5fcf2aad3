#include "env/user.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace wrackline::env {

std::string user_name() {
  std::vector<char> space(16384);
  passwd entry{};
  passwd* found = nullptr;
  const uid_t user = geteuid();
  std::string name = format("user {}", user);
  if (getpwuid_r(user, &entry, space.data(), space.size(), &found) == 0 && found != nullptr)
    name = entry.pw_name;
  const char* behind = std::getenv("SUDO_USER");  // set by sudo; says nothing about rights
  if (user == 0 && behind != nullptr && *behind != 0) name += format(" (sudo by {})", printable(behind, 80));
  return name;
}

}  // namespace wrackline::env
