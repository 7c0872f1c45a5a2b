#include "run/tcp_connections.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/trusted_path.hpp"
#include "run/listening_ports.hpp"

namespace muster {

std::string host_text(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_ntop(family, address, text.data(), text.size()) == nullptr) return {};
  constexpr std::string_view mapped = "::ffff:";
  const std::string_view host = text.data();
  const bool is_mapped = host.starts_with(mapped) && host.find('.') != host.npos;
  return std::string(is_mapped ? host.substr(mapped.size()) : host);
}

namespace {

constexpr unsigned established = 1, close_wait = 8;  // of the kernel's list of TCP states

/// Of `size` bytes of counters. Openers repeat what has no data where a process accepts connections late. Segments that
/// the other side had already (DSACK) were not lost.
std::uint64_t resent_of(const tcp_info& info, std::size_t size) {
  constexpr std::uint64_t of_opening = 3;
  constexpr std::size_t with_bytes = offsetof(tcp_info, tcpi_dsack_dups) + sizeof info.tcpi_dsack_dups;
  const std::uint64_t resent = info.tcpi_total_retrans;
  if (size < with_bytes) return resent - std::min(resent, of_opening);
  return info.tcpi_bytes_retrans == 0 ? 0 : resent - std::min<std::uint64_t>(resent, info.tcpi_dsack_dups);
}

/// Of an answer's attributes, the counters; false: none, or not all of them.
bool read_counters(std::span<const std::byte> attributes, TcpConnection& connection) {
  tcp_info info{};
  constexpr std::size_t needed = offsetof(tcp_info, tcpi_data_segs_out) + sizeof info.tcpi_data_segs_out;
  while (attributes.size() >= sizeof(rtattr)) {
    rtattr head{};
    std::memcpy(&head, attributes.data(), sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > attributes.size()) return false;
    if (head.rta_type == INET_DIAG_INFO) {
      if (head.rta_len < RTA_LENGTH(needed)) return false;
      std::memcpy(&info, attributes.data() + RTA_LENGTH(0), std::min(sizeof info, head.rta_len - RTA_LENGTH(0)));
      connection.received = info.tcpi_bytes_received;
      connection.segments_in = info.tcpi_data_segs_in;
      connection.segments_out = info.tcpi_data_segs_out;
      connection.sent = info.tcpi_segs_out;
      connection.resent = resent_of(info, head.rta_len - RTA_LENGTH(0));
      connection.is_unanswered = info.tcpi_unacked > 0;
      return true;
    }
    attributes = attributes.subspan(std::min<std::size_t>(RTA_ALIGN(head.rta_len), attributes.size()));
  }
  return false;
}

bool read_connection(std::span<const std::byte> body, TcpConnection& connection) {
  inet_diag_msg about{};
  if (body.size() < sizeof about) return false;
  std::memcpy(&about, body.data(), sizeof about);
  connection.local = {host_text(about.idiag_family, about.id.idiag_src), ntohs(about.id.idiag_sport)};
  connection.remote = {host_text(about.idiag_family, about.id.idiag_dst), ntohs(about.id.idiag_dport)};
  connection.user = about.idiag_uid;
  connection.inode = about.idiag_inode;
  connection.unread = about.idiag_rqueue;
  return read_counters(body.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof about), body.size())), connection);
}

/// Asks for those of one family, and reads all answers.
void list_connections(int socket, unsigned char family, std::vector<TcpConnection>& found) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 request;
  } question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = family;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  question.request.idiag_states = 1U << established | 1U << close_wait;
  if (::send(socket, &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question)) return;
  alignas(nlmsghdr) std::array<std::byte, 65536> answer;
  for (;;) {
    const ssize_t size = ::recv(socket, answer.data(), answer.size(), 0);
    if (size <= 0 || !parse_connections(std::span(answer).first(static_cast<std::size_t>(size)), found)) return;
  }
}

}  // namespace

bool parse_connections(std::span<const std::byte> answer, std::vector<TcpConnection>& found) {
  while (answer.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head{};
    std::memcpy(&head, answer.data(), sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > answer.size()) return false;
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) return false;
    TcpConnection connection;
    if (read_connection(answer.subspan(NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN), connection))
      found.push_back(std::move(connection));
    answer = answer.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), answer.size()));
  }
  return answer.empty();
}

std::vector<TcpConnection> tcp_connections() {
  std::vector<TcpConnection> found;
  const OwnedDescriptor socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (socket.number() < 0) return found;
  const timeval patience{1, 0};
  if (::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) return found;
  for (const unsigned char family : {AF_INET, AF_INET6}) list_connections(socket.number(), family, found);
  return found;
}

std::set<std::string> sockets_in_this_network(const std::vector<int>& pids) {
  std::set<std::string> inodes;
  for (const int pid : pids)
    if (has_network_of_this_node(pid)) inodes.merge(sockets_of(pid));
  return inodes;
}

}  // namespace muster
