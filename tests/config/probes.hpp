// Probes of these tests alone: one with parameters, labels and metrics of every kind, and one that is a program.
#pragma once

#include <array>

#include "muster/probe.hpp"

namespace muster::fake {

inline constexpr ParamSpec bandwidth_params[] = {
    {"sizes", ParamType::bytes_list, "8B,16MiB", "Message sizes.", {}, 1, 1e12},
    {"type", ParamType::text, "float", "Type of the elements.", "float|half", {}, {}},
    {"repetitions", ParamType::integer, "20", "Measured passes.", {}, 1, 1000},
    {"share", ParamType::real, "0.5", "Share of the memory.", {}, 0, 1},
    {"cap", ParamType::duration, "10s", "Longest time.", {}, 0.001, 3600},
    {"verify", ParamType::boolean, "true", "Look at the data.", {}, {}, {}},
};
inline constexpr MetricSpec bandwidth_metrics[] = {
    {"busbw", "GB/s", Better::higher, "Bus bandwidth.", true, true},
    {"latency", "us", Better::lower, "Time of one message."},
};
inline constexpr LabelSpec bandwidth_labels[] = {
    {"size", "Size of the message.", "sizes"},
    {"link", "Class of the link.", {}},
};
inline constexpr ProbeSpec bandwidth{.name = "bandwidth",
                                     .summary = "Messages between ranks.",
                                     .params = bandwidth_params,
                                     .metrics = bandwidth_metrics,
                                     .labels = bandwidth_labels};

inline constexpr ParamSpec program_params[] = {
    {"argv", ParamType::text_list, {}, "The program.", {}, {}, {}},
    {"arguments", ParamType::text_list, "", "More of them.", {}, {}, {}},
    {"metric", ParamType::text_list, "", "Numbers in its output.", {}, {}, {}},
    {"must_print", ParamType::text_list, "", "Patterns of its output.", {}, {}, {}},
};
inline constexpr MetricSpec program_metrics[] = {
    {"seconds", "s", Better::lower, "Time that the program took."},
};
inline constexpr ProbeSpec program{.name = "program",
                                   .summary = "Any program.",
                                   .params = program_params,
                                   .metrics = program_metrics,
                                   .takes_declared_metrics = true};

inline constexpr std::array<const ProbeSpec*, 2> probes{&bandwidth, &program};

}  // namespace muster::fake
