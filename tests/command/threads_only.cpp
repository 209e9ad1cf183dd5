// SPDX-License-Identifier: BSL-1.0
// A process whose main thread has ended while another thread works: /proc shows it as a zombie. It appends its pid to
// the file that it is given, again and again.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

int main(int, char** argv) {
  std::thread([path = argv[1]] {
    for (;;) {
      std::ofstream(path, std::ios::app) << ::getpid() << std::endl;
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }).detach();
  ::pthread_exit(nullptr);
}
