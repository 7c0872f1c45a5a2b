/// What the stand-in of NCCL puts on streams: sums and messages, done while a thread waits. Included by nccl.cpp alone.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "nccl_meeting.hpp"
#include "nccl_sums.hpp"

namespace {

struct Sum {
  Rank* rank;
  const std::byte* in;
  std::byte* out;
  std::size_t bytes;
  int type;
  std::size_t at = 0;
  int stage = 0;

  /// Each rank adds up its share of a chunk. False: others are not that far.
  bool one_chunk() {
    Meeting& meeting = *rank->meeting;
    const std::size_t length = std::min(chunk, bytes - at);
    const std::size_t elements = length / fake::size_of(type);
    const auto me = static_cast<std::size_t>(rank->rank);
    const auto all = static_cast<std::size_t>(rank->ranks);
    if (stage == 0) {
      if (!all_reached(meeting.done, rank->ranks, rank->chunks)) return false;
      std::memcpy(meeting.areas[me], in + at, length);
      meeting.posted[me] = rank->chunks + 1;
      stage = 1;
    }
    if (stage == 1) {
      if (!all_reached(meeting.posted, rank->ranks, rank->chunks + 1)) return false;
      const std::size_t first = elements * me / all;
      const std::size_t last = elements * (me + 1) / all;
      const std::byte* areas[most_ranks];
      for (int i = 0; i < rank->ranks; ++i) areas[i] = meeting.areas[i];
      fake::add_up(type, std::span(areas).first(all), meeting.result, first, last);
      meeting.summed[me] = rank->chunks + 1;
      stage = 2;
    }
    if (!all_reached(meeting.summed, rank->ranks, rank->chunks + 1)) return false;
    std::memcpy(out + at, meeting.result, length);
    meeting.done[me] = ++rank->chunks;
    stage = 0;
    at += length;
    return true;
  }

  bool go_on() {
    if (rank->is_aborted) return true;
    while (at < bytes)
      if (!one_chunk()) return false;
    for (const auto& [words] : fake::Sheet::here().lines)
      if (bytes > 0 && words.size() >= 2 && words[0] == "corrupt_allreduce" &&
          std::atoi(words[1].c_str()) == rank->rank)
        out[bytes / 2] ^= std::byte{0x10};
    return true;
  }
};

struct Message {
  Rank* rank;
  int peer;
  bool is_send;
  std::byte* memory;
  std::size_t bytes;
  void* stream;
  std::size_t at = 0;

  bool go_on() {
    const auto me = static_cast<std::size_t>(rank->rank);
    const auto other = static_cast<std::size_t>(peer);
    Channel& channel = is_send ? rank->meeting->channels[me][other] : rank->meeting->channels[other][me];
    while (at < bytes) {
      const std::uint64_t written = channel.written.load();
      const std::uint64_t read = channel.read.load();
      const std::uint64_t from = is_send ? written : read;
      const std::uint64_t able = is_send ? ring - (written - read) : written - read;
      const std::size_t length = std::min<std::size_t>({bytes - at, able, ring - from % ring});
      if (length == 0) return false;
      if (is_send)
        std::memcpy(channel.data + from % ring, memory + at, length);
      else
        std::memcpy(memory + at, channel.data + from % ring, length);
      (is_send ? channel.written : channel.read) = from + length;
      at += length;
    }
    return true;
  }
};

/// Messages that go on side by side; those of one peer and direction in their order.
struct Group {
  std::vector<Message> messages;

  bool go_on() {
    std::map<std::pair<int, bool>, bool> is_blocked;
    bool is_done = true;
    for (Message& message : messages) {
      if (message.rank->is_aborted) continue;
      bool& blocked = is_blocked[{message.peer, message.is_send}];
      blocked = blocked || !message.go_on();
      is_done = is_done && !blocked;
    }
    return is_done;
  }
};

template <class T>
bool go_on_and_free(void* state) {
  auto* work = static_cast<T*>(state);
  if (!work->go_on()) return false;
  delete work;
  return true;
}

template <class T>
int start(void* stream, T* work) {
  if (enqueue(stream, go_on_and_free<T>, work)) return 0;
  delete work;
  return failed(unhandled_cuda, std::string("no ") + runtime_name() + " in this process");
}

/// Of a communicator that does not block: begun now, done once it was asked a few times what became of it. Who calls
/// again before that is refused: a real library may take it and go wrong.
template <class T>
int start_for(Rank& rank, void* stream, T* work) {
  if (rank.is_blocking) return start(stream, work);
  if (rank.under_way) return failed(invalid_usage, "the call before is still in progress");
  rank.asked = 3;
  rank.under_way = [stream, work] { return start(stream, work); };
  return in_progress;
}

int group_depth = 0;
Group group;

int end_group() {
  if (--group_depth > 0 || group.messages.empty()) return 0;
  const Message first = group.messages[0];
  auto* whole = new Group(std::move(group));
  group.messages.clear();
  return start_for(*first.rank, first.stream, whole);
}

int add_message(const Message& message) {
  if (message.peer < 0 || message.peer >= message.rank->ranks) return failed(invalid_argument, "no such peer");
  ++group_depth;
  group.messages.push_back(message);
  return end_group();
}

}  // namespace
