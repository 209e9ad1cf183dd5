// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <functional>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace support {

class command_line;

/// This program once more, as a process of its own. Move-only; ended with kill -9 when destroyed. Not thread-safe.
/// All functions throw std::system_error, and std::runtime_error when the process does something else than expected;
/// the constructors std::invalid_argument for a URL with a user: see pass_on().
class process {
 public:
  /// Starts it with these arguments.
  explicit process(std::vector<std::string> arguments);
  /// The same for one that is talked to: its standard input is the other end of socket(), which keeps packets apart,
  /// and what it prints goes to the file `log`.
  process(std::vector<std::string> arguments, const std::string& log);
  process(process&& other) noexcept;
  process& operator=(process&&) = delete;
  ~process();

  pid_t pid() const noexcept { return pid_; }
  /// Closed when this is destroyed; -1: it was not started to be talked to.
  int socket() const noexcept { return socket_; }
  /// The last line of its log.
  std::string last_words() const;
  /// SIGSTOP, and waits until it stands still.
  void stop();
  /// Waits until it has stopped itself: stop_here().
  void wait_until_stopped();
  /// Whether it has stopped itself by now: stop_here().
  bool has_stopped();
  /// SIGCONT: lets a stopped one go on.
  void go_on();
  /// kill -9, stopped or not.
  void kill();
  /// Waits for its end: its exit code, or 128 + the signal that ended it.
  int wait();

 private:
  pid_t pid_ = 0;  ///< 0: ended
  int socket_ = -1;
  std::string log_{};
};

/// For what must not stand on a command line, which everybody on the machine can read, as a URL with its password: the
/// processes started from now on find it in their environment.
void pass_on(const char* name, const std::string& value);
/// A worker ends when its parent does.
void follow_parent();
/// For a sample that starts itself as its workers, first of all: what it prints comes line by line, its workers find
/// the database in the variable `url_variable`, and a worker ends when its parent does.
void begin_process(const std::string& url, bool worker);
/// main() of such a sample, from its options to its exit code. After they have been read, `number` says which worker
/// this process is; 0: the parent, which calls `parent` and ends with 1 if that returns false.
int run_process(command_line& options, int argc, char** argv, const std::string& url, const int& number,
                const std::function<bool()>& parent, const std::function<void()>& worker);
/// Stops the calling process, all its threads, in the midst of things (SIGSTOP), as a debugger or an overloaded virtual
/// machine does. Its parent sees it, and lets it go on or kills it.
void stop_here();

// ---- what parent and child say to each other: values, over the socket of a process that is talked to -------------

/// Where the other end is closed nothing is sent: the next receive() says so.
template <class Value>
requires std::is_trivially_copyable_v<Value>
void send(int socket, const Value& value) { ::send(socket, &value, sizeof value, MSG_NOSIGNAL); }

enum class received { value, nothing, closed };

/// `flags`: MSG_DONTWAIT gives `nothing` rather than wait. Throws std::system_error.
template <class Value>
received receive(int socket, Value& value, int flags = 0) {
  for (;;) {
    const auto size = ::recv(socket, &value, sizeof value, flags);
    if (size > 0) return received::value;
    if (size == 0 || errno == ECONNRESET) return received::closed;
    if (errno == EAGAIN) return received::nothing;
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "reading from another process");
  }
}

}  // namespace support
