#include "probes/command/rendezvous.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <fmt/format.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <random>
#include <span>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/owned_descriptor.hpp"
#include "base/text.hpp"
#include "measure/network.hpp"
#include "system/this_machine.hpp"

namespace muster::program {

namespace {

constexpr double patience_s = 2;
constexpr std::size_t most_addresses = 8;

/// Closed at the end, without a trace that would keep the port busy.
class Socket {
 public:
  explicit Socket(int family) : opened_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const linger at_once{1, 0};
    (void)::setsockopt(number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  [[nodiscard]] int number() const { return opened_.number(); }

 private:
  OwnedDescriptor opened_;
};

/// An address with a port, of either family.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;

  static Endpoint of(const std::string& address, int port) {
    Endpoint made;
    auto& four = reinterpret_cast<sockaddr_in&>(made.storage);
    auto& six = reinterpret_cast<sockaddr_in6&>(made.storage);
    if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
      four.sin_family = AF_INET;
      four.sin_port = htons(static_cast<std::uint16_t>(port));
      made.size = sizeof four;
    } else if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
      six.sin6_family = AF_INET6;
      six.sin6_port = htons(static_cast<std::uint16_t>(port));
      made.size = sizeof six;
    }
    return made;
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// A port open for connections while it lives. The kernel completes connections by itself.
class Door {
 public:
  explicit Door(int family) : socket_(family), any_address_(family == AF_INET6 ? "::" : "0.0.0.0") {
    const int off = 0;
    if (family == AF_INET6) (void)::setsockopt(socket_.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    // Below the range that outgoing connections take their ports from: no process gets it by chance between now and the
    // start of the program.
    const auto microseconds = static_cast<std::uint64_t>(monotonic_seconds() * 1e6);
    std::minstd_rand any(static_cast<unsigned>(microseconds) ^ static_cast<unsigned>(::getpid()));
    for (int tries = 0; tries < 32 && port_ == 0; ++tries) open(20'000 + static_cast<int>(any() % 12'000));
    if (port_ == 0) open(0);
  }
  /// 0: none could be had.
  [[nodiscard]] int port() const { return port_; }
  /// Connections that have come, closed by their other end or not: they fill the queue, 128 of them on older kernels.
  void clear() {
    for (int one = 0; (one = ::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) ::close(one);
  }

 private:
  void open(int port) {
    Endpoint here = Endpoint::of(any_address_, port);
    if (::bind(socket_.number(), here.get(), here.size) != 0 || ::listen(socket_.number(), SOMAXCONN) != 0) return;
    (void)::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&here.storage), &here.size);
    // Both kinds of address have it at the same place.
    port_ = ntohs(reinterpret_cast<const sockaddr_in&>(here.storage).sin_port);
  }

  Socket socket_;
  const char* any_address_;
  int port_ = 0;
};

bool reaches_address(const std::string& address, int port, double deadline) {
  const Endpoint there = Endpoint::of(address, port);
  if (there.size == 0) return false;
  const Socket socket(there.storage.ss_family);
  if (::connect(socket.number(), there.get(), there.size) == 0) return true;
  // No route: a poll would find nothing wrong.
  if (errno != EINPROGRESS) return false;
  pollfd waiting{socket.number(), POLLOUT, 0};
  const int left_ms = std::max(0, static_cast<int>((deadline - monotonic_seconds()) * 1000));
  if (::poll(&waiting, 1, left_ms) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/// Why a program given `name` does not reach the port; empty: it does.
std::string why_not_reached(const std::string& name, int port) {
  const double deadline = monotonic_seconds() + patience_s;
  const environment::Resolved resolved = environment::resolve(name, patience_s);
  if (resolved.addresses.empty()) return fmt::format("the name can't be resolved ({})", resolved.error);
  const bool is_reached =
      std::any_of(resolved.addresses.begin(), resolved.addresses.end(),
                  [&](const std::string& address) { return reaches_address(address, port, deadline); });
  return is_reached ? std::string() : fmt::format("rank 0 does not answer at {}", human_list(resolved.addresses, 2));
}

/// Of MASTER_ADDR in this rank's own environment, while rank 0 listens on `port`. `reached`: the name by which all
/// nodes reach it; empty: none. `names`: those of rank 0's node; the addresses of a described node are in no network.
std::string judge_exported_address(int port, const std::string& reached, std::span<const std::string> names) {
  const char* exported = std::getenv("MASTER_ADDR");
  if (exported == nullptr || *exported == '\0' || reached == exported) return {};
  const bool is_described = !this_machine().simulated.empty();
  if (is_described && is_in(exported, names)) return {};
  const std::string why = why_not_reached(exported, port);
  return why.empty() ? why : fmt::format("MASTER_ADDR={}: {}", exported, why);
}

/// Whether it names a node of the Slurm job that this rank runs in.
bool names_node_of_the_job(const std::string& name) {
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (list == nullptr) return false;
  const auto nodes = expand_hostlist(list);
  return nodes && std::any_of(nodes->begin(), nodes->end(), [&](const std::string& node) {
           return node == name || node.substr(0, node.find('.')) == name.substr(0, name.find('.'));
         });
}

/// What rank 0's node may be called, the best first.
std::vector<std::string> names_of(const RankPlace& place) {
  std::vector<std::string> names{place.host};
  for (const environment::InterfaceAddress& one : environment::interfaces_up()) {
    const bool is_four = one.address.find('.') != std::string::npos;
    if (is_four && !environment::is_loopback(one.address) && names.size() < most_addresses)
      names.push_back(one.address);
  }
  if (place.node_count == 1) names.emplace_back("127.0.0.1");
  return names;
}

/// The lines of rank 0, on every rank.
Result<std::vector<std::string>> share(RunContext& context, const std::string& mine) {
  const auto* bytes = reinterpret_cast<const std::byte*>(mine.data());
  const auto all = context.comm.broadcast(std::span(bytes, mine.size()), 0);
  if (!all) return tl::unexpected(all.error());
  return split({reinterpret_cast<const char*>(all->data()), all->size()}, '\n');
}

}  // namespace

Result<Rendezvous> agree_on_master(RunContext& context) {
  context.recorder.step("rendezvous");
  std::optional<Door> door;
  std::string mine;
  if (context.place.rank == 0) {
    door.emplace(AF_INET6);
    if (door->port() == 0) door.emplace(AF_INET);  // a node without IPv6
    mine = fmt::format("{}\n{}\n{}", door->port(), random_hex(8), join(names_of(context.place), "\n"));
  }
  const auto message = share(context, mine);
  if (!message) return tl::unexpected(message.error());
  const auto port = message->empty() ? std::nullopt : environment::parse_port(message->front());
  if (!port || message->size() < 3) return fail(ErrorKind::system, "MASTER_PORT", "rank 0 found no free port");
  std::string master = (*message)[2];
  std::string reached;
  for (std::size_t i = 2; i < message->size(); ++i) {
    // One knock per node: the others of a node would learn nothing else.
    const auto by_all =
        context.comm.all_true(context.place.local_rank != 0 || why_not_reached((*message)[i], *port).empty());
    if (!by_all) return tl::unexpected(by_all.error());
    if (door) door->clear();
    if (!*by_all) continue;
    master = reached = (*message)[i];
    break;
  }
  Rendezvous rendezvous;
  if (context.place.local_rank == 0) {
    rendezvous.wrong_address = judge_exported_address(*port, reached, std::span(*message).subspan(2));
    if (!rendezvous.wrong_address.empty()) rendezvous.is_elsewhere = names_node_of_the_job(std::getenv("MASTER_ADDR"));
  }
  // Rank 0 listens until all have tried.
  if (const auto done = context.comm.all_true(true); !done) return tl::unexpected(done.error());
  rendezvous.env = {{"MASTER_ADDR", master},
                    {"MASTER_PORT", std::to_string(*port)},
                    {"MUSTER_MEETING", fmt::format("{} {} {}", (*message)[1], master, *port)}};
  return rendezvous;
}

}  // namespace muster::program
