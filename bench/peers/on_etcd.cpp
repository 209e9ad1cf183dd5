// SPDX-License-Identifier: BSL-1.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contender.hpp"
#include "etcd_lease.grpc.pb.h"
#include "etcd_lock.grpc.pb.h"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/server_process.hpp"

namespace dlock::bench {

namespace {

using namespace std::chrono_literals;

/// An etcd of one member, which syncs what it writes.
class etcd_server : public test::server_process {
 public:
  etcd_server() {
    for (int attempt = 0; attempt < 5; ++attempt) {  // somebody else may take a port
      start();
      const bool up = test::eventually([this] { return !runs() || listens(); }, 20s);
      if (up && runs()) return;
      kill();
    }
    throw std::runtime_error("etcd does not start; is it installed? scripts/setup.sh bench does that");
  }

  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }

 private:
  void start() {
    port_ = test::free_port();
    const auto clients = "http://" + address(), members = fmt::format("http://127.0.0.1:{}", test::free_port());
    run({"etcd", "--data-dir=" + (folder_ / "data"), "--listen-client-urls=" + clients,
         "--advertise-client-urls=" + clients, "--listen-peer-urls=" + members,
         "--initial-advertise-peer-urls=" + members, "--initial-cluster=default=" + members},
        folder_ / "log");
  }
  bool listens() const {
    const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool connected = ::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(to);
    return connected;
  }

  test::scratch_folder folder_{};
  std::uint16_t port_ = 0;
};

/// A channel and a lease, both of which a process needs once. The locks are etcd's own: a waiter's call returns when
/// the server has granted it.
class etcd_session {
 public:
  explicit etcd_session(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    const auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    leases_ = etcdserverpb::Lease::NewStub(channel);
    locks_ = v3lockpb::Lock::NewStub(channel);
    etcdserverpb::LeaseGrantRequest request;
    request.set_ttl(600);  // longer than it lives: there is nothing to renew
    grpc::ClientContext about;
    about.set_wait_for_ready(true);
    about.set_deadline(std::chrono::system_clock::now() + 20s);
    etcdserverpb::LeaseGrantResponse granted;
    check(leases_->LeaseGrant(&about, request, &granted));
    lease_ = granted.id();
  }
  ~etcd_session() {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(lease_);
    grpc::ClientContext about;
    etcdserverpb::LeaseRevokeResponse revoked;
    leases_->LeaseRevoke(&about, request, &revoked);
  }
  etcd_session(const etcd_session&) = delete;
  etcd_session& operator=(const etcd_session&) = delete;

  /// What the lock is freed by.
  std::string lock(const std::string& name) {
    v3lockpb::LockRequest request;
    request.set_name(name);
    request.set_lease(lease_);
    grpc::ClientContext about;
    v3lockpb::LockResponse granted;
    check(locks_->Lock(&about, request, &granted));
    return granted.key();
  }
  void unlock(const std::string& key) {
    v3lockpb::UnlockRequest request;
    request.set_key(key);
    grpc::ClientContext about;
    v3lockpb::UnlockResponse freed;
    check(locks_->Unlock(&about, request, &freed));
  }

 private:
  static void check(const grpc::Status& status) {
    if (!status.ok()) throw std::runtime_error("etcd: " + status.error_message());
  }

  std::unique_ptr<etcdserverpb::Lease::Stub> leases_{};
  std::unique_ptr<v3lockpb::Lock::Stub> locks_{};
  std::int64_t lease_ = 0;
};

class etcd_lock final : public key_lock {
 public:
  etcd_lock(std::shared_ptr<etcd_session> session, std::string key)
      : session_(std::move(session)), name_(std::move(key)) {}
  void lock() override { key_ = session_->lock(name_); }
  void unlock() override { session_->unlock(key_); }

 private:
  const std::shared_ptr<etcd_session> session_;
  const std::string name_;
  std::string key_{};
};

}  // namespace

std::vector<contender> on_etcd() {
  const auto server = std::make_shared<etcd_server>();
  const auto start = [server]() -> client_process {
    return [session = std::make_shared<etcd_session>(server->address())](const std::string& key) {
      return std::make_unique<etcd_lock>(session, key);
    };
  };
  return {contender{.server = "etcd",
                    .name = "etcd's lock service",
                    .connections = "1 channel",
                    .start = start,
                    .server_pid = server->pid()}};
}

}  // namespace dlock::bench
