// A PostgreSQL server of its own for a test: from the distribution's package, in a temporary folder, behind a
// socket in that folder and nowhere else. Never run as root, which the server refuses.
#pragma once

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "postgres/connection.h"

namespace wrackline::connectors {

class PostgresServer {
 public:
  ~PostgresServer() {
    kill();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  static std::string binaries() {
    std::string newest;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
      const std::string bin = entry.path() / "bin";
      if (std::filesystem::exists(bin + "/initdb") && bin > newest) newest = bin;
    }
    return newest;
  }

  void make() {
    std::string pattern = testing::TempDir() + "wrackline-postgres-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    const bool given = geteuid() != 0 || chown(folder_.c_str(), kNobody, kNobody) == 0;
    ASSERT_TRUE(given) << folder_;
    int status = -1;
    const pid_t made = spawn({binaries() + "/initdb", "-D", folder_ + "/data", "-U", "wrackline", "-A",
                              "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"});
    ASSERT_EQ(waitpid(made, &status, 0), made);
    ASSERT_EQ(status, 0) << "initdb failed";
    start();
  }

  // By the thread that lives longest: the server ends with the thread that started it.
  void start() {
    for (int attempt = 0; attempt < 600; ++attempt) {
      // After a kill it ends at once while processes of the old one still hold the shared memory.
      if (server_ <= 0 || waitpid(server_, nullptr, WNOHANG) != 0) {
        server_ = spawn({binaries() + "/postgres", "-D", folder_ + "/data", "-k", folder_, "-c",
                         "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"});
      }
      if (postgres::Connection::open(url())) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << "the server does not start";
  }

  // As kill -9 would: the processes that serve connections notice and end without a word.
  void kill(int signal = SIGKILL) {
    if (server_ <= 0) return;
    ::kill(server_, signal);
    waitpid(server_, nullptr, 0);
    server_ = 0;
  }
  std::string url(const std::string& user = "wrackline", const std::string& database = "postgres") const {
    return format("host={} user={} dbname={}", folder_, user, database);
  }
  const std::string& folder() const { return folder_; }

  void execute(const std::string& sql) const {
    postgres::Connection connection = *postgres::Connection::open(url());
    const Status status = connection.exec(sql);
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }
  // The rows of a query, values joined by "|", rows by a blank.
  std::string query(const std::string& sql) const {
    Result<postgres::Connection> connection = postgres::Connection::open(url());
    if (!connection) return connection.error().to_string();
    const auto rows = connection->query(sql);
    if (!rows) return rows.error().to_string();
    std::string text;
    for (const postgres::Row& row : *rows) {
      if (&row != rows->data()) text += ' ';
      for (size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "|" : "") + row[i].value_or("NULL");
    }
    return text;
  }

 private:
  static constexpr unsigned kNobody = 65534;

  pid_t spawn(const std::vector<std::string>& command) const {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log = folder_ + "/server.log";
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0))
      _exit(90);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);  // no server outlives its test
    if (getppid() != parent || chdir("/") != 0) _exit(91);
    if (freopen(log.c_str(), "a", stdout) == nullptr || dup2(1, 2) < 0) _exit(92);
    execv(arguments[0], arguments.data());
    _exit(93);
  }

  std::string folder_;
  pid_t server_ = 0;
};

}  // namespace wrackline::connectors
