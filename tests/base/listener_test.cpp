#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/loop.hpp"

namespace muster {
namespace {

using Connection = Listener::Connection;

int connect_to(int port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0) return descriptor;
  close(descriptor);
  return -1;
}

std::string read_to_end(int descriptor) {
  std::string text;
  char buffer[65536];
  for (ssize_t count = 1; count > 0;) {
    count = read(descriptor, buffer, sizeof(buffer));
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

std::vector<std::byte> bytes(std::string_view text) {
  std::vector<std::byte> result(text.size());
  if (!text.empty()) std::memcpy(result.data(), text.data(), text.size());
  return result;
}

TEST(ListenerTest, EchoesWhatManyCallersSend) {
  Loop loop;
  int closed = 0;
  const auto listener = Listener::open(loop, "127.0.0.1", [&](std::shared_ptr<Connection> connection) {
    // The connection is owned by its own functions; they are dropped when it closes.
    connection->on_bytes = [connection](std::span<const std::byte> chunk) {
      connection->send({chunk.begin(), chunk.end()});
    };
    connection->on_close = [&closed] { ++closed; };
  });
  ASSERT_TRUE(listener.has_value()) << to_string(listener.error());
  const int port = (*listener)->port();
  ASSERT_GT(port, 0);
  constexpr int callers = 8;
  std::vector<std::string> echoed(callers);
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&echoed, i, port] {
      const int descriptor = connect_to(port);
      const std::string text(1000 + static_cast<std::size_t>(i), static_cast<char>('a' + i));
      ASSERT_EQ(write(descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      while (echoed[static_cast<std::size_t>(i)].size() < text.size()) {
        char buffer[4096];
        const ssize_t count = read(descriptor, buffer, sizeof(buffer));
        if (count <= 0) break;
        echoed[static_cast<std::size_t>(i)].append(buffer, static_cast<std::size_t>(count));
      }
      close(descriptor);
    });
  const auto limit = loop.after(30, [] { FAIL() << "not all closed after 30 s"; });
  loop.run_until([&] { return closed == callers; });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < callers; ++i)
    EXPECT_EQ(echoed[static_cast<std::size_t>(i)],
              std::string(1000 + static_cast<std::size_t>(i), static_cast<char>('a' + i)));
}

/// However many wait: other work of the loop has its turn between them.
TEST(ListenerTest, ManyThatWaitAreAcceptedAFewAtATime) {
  constexpr int callers = 300;
  Loop loop;
  std::vector<std::shared_ptr<Connection>> kept;
  int with_unread = 0;
  const auto listener = Listener::open(loop, "127.0.0.1", [&](std::shared_ptr<Connection> connection) {
    with_unread += connection->has_unread() ? 1 : 0;
    kept.push_back(std::move(connection));
  });
  ASSERT_TRUE(listener.has_value());
  std::vector<int> descriptors;
  for (int i = 0; i < callers; ++i) {
    descriptors.push_back(connect_to((*listener)->port()));
    if (i % 2 == 0) EXPECT_EQ(write(descriptors.back(), "x", 1), 1);
  }
  std::size_t most = 0, before = 0;
  const auto look = loop.every(0.001, [&] {
    most = std::max(most, kept.size() - before);
    before = kept.size();
  });
  const auto limit = loop.after(30, [] { FAIL() << "not all accepted after 30 s"; });
  loop.run_until([&] { return kept.size() == static_cast<std::size_t>(callers); });
  EXPECT_EQ(with_unread, callers / 2);
  EXPECT_LT(most, static_cast<std::size_t>(callers)) << "all at once";
  for (const int descriptor : descriptors) close(descriptor);
}

TEST(ListenerTest, WhatWasSentBeforeCloseStillArrives) {
  Loop loop;
  const std::string text(8u << 20, 'z');
  std::weak_ptr<Connection> watched;
  const auto listener = Listener::open(loop, "0.0.0.0", [&](std::shared_ptr<Connection> connection) {
    watched = connection;
    connection->on_close = [] { FAIL() << "called after our own close"; };
    connection->send(bytes(text));
    connection->send({});
    connection->close();
    connection->close();
    connection->send(bytes("too late"));
  });
  ASSERT_TRUE(listener.has_value());
  std::string received;
  std::atomic<bool> is_read = false;
  std::thread caller([&, port = (*listener)->port()] {
    const int descriptor = connect_to(port);
    received = read_to_end(descriptor);
    close(descriptor);
    is_read = true;
  });
  const auto look = loop.every(0.002, [] {});
  loop.run_until([&] { return is_read.load(); });
  caller.join();
  EXPECT_EQ(received.size(), text.size());
  EXPECT_TRUE(watched.expired());
}

TEST(ListenerTest, DroppedConnectionIsClosed) {
  Loop loop;
  bool is_connected = false;
  const auto listener = Listener::open(loop, "127.0.0.1", [&](const std::shared_ptr<Connection>&) {
    is_connected = true;  // and nobody keeps it
  });
  ASSERT_TRUE(listener.has_value());
  const int descriptor = connect_to((*listener)->port());
  ASSERT_GE(descriptor, 0);
  loop.run_until([&] { return is_connected; });
  EXPECT_EQ(read_to_end(descriptor), "");
  close(descriptor);
}

TEST(ListenerTest, CloseOfTheOtherSideIsToldOnceAfterAllBytes) {
  Loop loop;
  std::shared_ptr<Connection> kept;
  std::string received;
  int closed = 0;
  const auto listener = Listener::open(loop, "127.0.0.1", [&](std::shared_ptr<Connection> connection) {
    kept = std::move(connection);
    kept->on_bytes = [&](std::span<const std::byte> chunk) {
      EXPECT_EQ(closed, 0);
      received.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    };
    kept->on_close = [&] {
      ++closed;
      kept.reset();
    };
  });
  ASSERT_TRUE(listener.has_value());
  const int descriptor = connect_to((*listener)->port());
  ASSERT_EQ(write(descriptor, "last words", 10), 10);
  close(descriptor);
  loop.run_until([&] { return closed > 0; });
  EXPECT_EQ(received, "last words");
  EXPECT_EQ(closed, 1);
}

TEST(ListenerTest, BrokenConnectionIsToldToo) {
  Loop loop;
  std::shared_ptr<Connection> kept;
  int closed = 0;
  const auto listener = Listener::open(loop, "127.0.0.1", [&](std::shared_ptr<Connection> connection) {
    kept = std::move(connection);
    kept->on_close = [&] { ++closed; };
  });
  ASSERT_TRUE(listener.has_value());
  const int descriptor = connect_to((*listener)->port());
  loop.run_until([&] { return kept != nullptr; });
  const linger reset{1, 0};  // close sends a reset
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  close(descriptor);
  loop.run_until([&] { return closed > 0; });
  kept->send(bytes("to nobody"));
  kept->close();
  EXPECT_EQ(closed, 1);
}

TEST(ListenerTest, ConnectionsOutliveTheListenerAndTheLoop) {
  auto loop = std::make_unique<Loop>();
  std::shared_ptr<Connection> kept;
  auto listener =
      Listener::open(*loop, "127.0.0.1", [&](std::shared_ptr<Connection> connection) { kept = connection; });
  ASSERT_TRUE(listener.has_value());
  const int port = (*listener)->port();
  const int descriptor = connect_to(port);
  loop->run_until([&] { return kept != nullptr; });
  listener->reset();
  EXPECT_EQ(connect_to(port), -1);
  kept->send(bytes("hello"));
  kept->close();
  loop.reset();
  EXPECT_EQ(read_to_end(descriptor), "hello");
  kept->send(bytes("nowhere"));
  kept.reset();
  close(descriptor);
}

TEST(ListenerTest, AddressThatIsNotOursIsAnError) {
  Loop loop;
  const auto act = [](const std::shared_ptr<Connection>&) {};
  const auto foreign = Listener::open(loop, "192.0.2.1", act);
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error().kind, ErrorKind::system);
  EXPECT_EQ(foreign.error().where, "192.0.2.1");
  const auto name = Listener::open(loop, "no-address", act);
  ASSERT_FALSE(name.has_value());
  EXPECT_EQ(name.error().what.find("can't listen there"), 0u);
}

}  // namespace
}  // namespace muster
