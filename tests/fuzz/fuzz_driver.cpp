// Callers of a running driver: it listens and has started a launcher, and any process may connect. The input is a list
// of acts, each an act (u8), a length (u8) and as many bytes. The first byte of all says whether the callers have the
// launch's key: without it nothing that they send has any effect; with it all that they report is judged and written.
#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <cstdlib>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "evaluate/evaluate.hpp"
#include "model/json.hpp"
#include "muster/probe.hpp"
#include "run/launch.hpp"
#include "system/system.hpp"

namespace {

using namespace muster;

void require(bool claim) {
  if (!claim) std::abort();
}

/// What the driver gave the launcher for its agents.
Environment given;

LaunchCommand command(const LauncherIdentity&, const JobShape&, const AgentCommand& agent, const Argv&) {
  given = agent.env;
  return {{"/bin/sleep", "60"}, {}, {}};
}

std::string given_value(std::string_view name) {
  for (const auto& [key, value] : given)
    if (key == name) return value;
  std::abort();
}

const LauncherSpec& launcher() {
  static const LauncherSpec one = [] {
    LauncherSpec spec{};
    spec.name = "fuzz";
    spec.command = command;
    return spec;
  }();
  return one;
}

const fs::path& folder() {
  // Never destroyed: it is used at the very end.
  static const auto* const one = [] {
    const auto* const path = new fs::path("/dev/shm/fuzz_driver." + std::to_string(::getpid()));
    fs::create_directories(*path);
    std::atexit([] { fs::remove_all(folder()); });
    return path;
  }();
  return *one;
}

/// Ours while a child of vfork has libuv's for the launcher, in the same memory.
char** own_environment = nullptr;

class Caller {
 public:
  explicit Caller(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    // No port is kept in TIME_WAIT: there are fewer of them than executions in a minute.
    const linger none{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { ::close(socket_); }
  void send(std::span<const std::byte> bytes) const {
    if (is_connected_) (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  int socket_;
  bool is_connected_ = false;
};

World world_here() {
  World world;
  world.library = "Open MPI v4.1.4";
  RankPlace place;
  place.host = host_name();
  world.ranks = {place};
  world.pids = {1};
  world.nodes = {{host_name(), {}}};
  return world;
}

/// A driver with one launch of one case of `hello`.
class Driver {
 public:
  explicit Driver(bool has_key) : has_key_(has_key) {
    options_.agent = "/bin/true";
    options_.folder = folder();
    own_environment = environ;
    require(launch_.start().has_value());
    const auto wire = given_value(env_wire);
    port_ = std::atoi(wire.c_str() + wire.rfind(':') + 1);
    const auto key = has_key ? LaunchKey::from_hex(given_value(env_key)) : LaunchKey::random();
    require(key.has_value());
    sealer_.emplace(*key, FrameSender::agent);
  }
  ~Driver() { callers_.clear(); }

  void act(std::uint8_t what, std::span<const std::byte> bytes) {
    if (callers_.empty() || what % 10 == 0) callers_.push_back(std::make_unique<Caller>(port_));
    const std::uint8_t type = bytes.empty() ? 0 : std::to_integer<std::uint8_t>(bytes[0]);
    const auto payload = bytes.subspan(bytes.empty() ? 0 : 1);
    switch (what % 10) {
      case 1:
        return callers_.back()->send(bytes);
      case 2:
        return callers_.back()->send(encode_frame(type, payload));
      case 3:
        return seal(type, payload);
      case 4:
        callers_.pop_back();
        return;
      case 5:
        return turn();
      case 6:
        return seal(static_cast<std::uint8_t>(MessageType::hello), encode(HelloMessage{MUSTER_VERSION, 1}));
      case 7:
        return seal(static_cast<std::uint8_t>(MessageType::world), encode(world_here()));
      case 8:
        return seal(static_cast<std::uint8_t>(MessageType::case_begin), encode_case_begin(0));
      case 9: {
        // An observation of the input's own bytes, between the number and the length that a part has.
        const std::vector<std::vector<std::byte>> one{{bytes.begin(), bytes.end()}};
        seal(static_cast<std::uint8_t>(MessageType::case_part), encode_case_part(0, one));
        return seal(static_cast<std::uint8_t>(MessageType::case_end), encode_case_end(0, 0.5));
      }
      default:
        return;
    }
  }

  void finish() {
    turn();
    callers_.clear();
    turn();
    if (has_key_) return;
    require(!launch_.world() && !launch_.is_over() && launch_.stage() == LaunchStage::start_up &&
            launch_.partial().empty());
  }

 private:
  void seal(std::uint8_t type, std::span<const std::byte> payload) {
    callers_.back()->send(sealer_->seal(type, payload));
  }

  /// What was sent is there at once, on the loopback: a few rounds accept, read and close.
  void turn() {
    for (int round = 0; round < 4; ++round) {
      bool is_done = false;
      const auto timer = loop_.after(0, [&] { is_done = true; });
      loop_.run_until([&] { return is_done; });
    }
  }

  void judge(std::vector<Observation> observations) {
    Case item;
    item.id = "a%00000001";
    item.check = "a";
    item.probe = "hello";
    CaseRecord record;
    record.launch = 0;
    record.finished = true;
    record.observations = std::move(observations);
    RunReport report;
    report.cases.push_back(evaluate(item, *find_probe("hello"), record, *launch_.world()));
    require(run_report_from_json(to_json(report)).has_value());
  }

  LaunchOrder order() const {
    LaunchOrder order;
    order.tag.tag = "fuzz";
    order.items.push_back({0, "a%00000001", "hello", "{}"});
    order.timeouts = {20};
    order.folder = folder();
    return order;
  }
  LaunchEvents events() {
    return {{}, {}, [this](int, std::vector<Observation> observations, double) { judge(std::move(observations)); }};
  }

  bool has_key_;
  int port_ = 0;
  Loop loop_;
  SessionOptions options_;
  LauncherIdentity identity_;
  Launch launch_{loop_, {launcher(), identity_, options_}, order(), events()};
  std::optional<FrameSealer> sealer_;
  std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace

// libuv starts the launcher by fork and execvp, and fork would copy the tables of the sanitizers' memory: 5 ms of the 9
// of an execution. Not a function, which would return twice, but a jump. Nothing else in a launch forks.
#if defined(__aarch64__)
asm(".globl fork\n.type fork, %function\nfork:\n\tb vfork\n");
#else
asm(".globl fork\n.type fork, @function\nfork:\n\tjmp vfork@PLT\n");
#endif

extern "C" int execvp(const char* file, char* const arguments[]) noexcept {
  char** const of_launcher = environ;
  environ = own_environment;
  return ::execvpe(file, arguments, of_launcher);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Driver driver(data[0] % 4 != 0);
  auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  while (rest.size() >= 2) {
    const auto what = std::to_integer<std::uint8_t>(rest[0]);
    const auto length = std::min<std::size_t>(std::to_integer<std::size_t>(rest[1]), rest.size() - 2);
    driver.act(what, rest.subspan(2, length));
    rest = rest.subspan(2 + length);
  }
  driver.finish();
  return 0;
}
