/// Messages of NVIDIA's drivers in the kernel's log, of GPUs and NVSwitches. Xids have a catalogue of their own.
#pragma once

#include "model/kernel_patterns.hpp"

namespace muster::nvidia_log {

inline constexpr auto is_fault = Verdict::fail;
inline constexpr auto is_note = Verdict::pass;

inline constexpr std::string_view reseat =
    "drain and power-cycle the node; have the GPU reseated, then replaced, if it recurs";
inline constexpr std::string_view train =
    "drain the node, reset all its GPUs or reboot; have cable, bridge or board replaced if it recurs";
inline constexpr std::string_view sxid_note =
    "watch the links of the switch (nvidia-smi nvlink -e); have it looked at when the number keeps growing";

// docs/kernel-log.md is the table for people.
inline constexpr KernelKind kinds[] = {
    {"gpu_lost", is_fault, "it has fallen off the bus", reseat, OfGpu::always},
    {"gpu_init", is_fault, "the driver could not initialise it", reseat, OfGpu::always},
    {"nvlink_training", is_fault, "an NVLink could not be brought up", train},
    {"sxid_fatal", is_fault, "a fatal error of an NVSwitch", train, OfGpu::no, "SXid"},
    {"sxid", is_note, "a non-fatal error of an NVSwitch", sxid_note, OfGpu::no, "SXid"},
};

// The first that fits counts.
inline constexpr KernelPattern patterns[] = {
    {"gpu_lost", "NVRM", "", "fallen off the bus", ""},
    {"gpu_init", "NVRM", "", "RmInitAdapter failed", ""},
    {"gpu_init", "NVRM", "", "rm_init_adapter failed", ""},
    {"nvlink_training", "NVRM", "", "link", "failed to train"},
    {"nvlink_training", "NVRM", "", "link", "training failed"},
    {"nvlink_training", "NVRM", "", "link", "failed to update rx detect"},
    {"nvlink_training", "nvidia-nvlink", "Link ", "failed to train", ""},
    {"nvlink_training", "nvidia-nvlink", "link ", "failed to train", ""},
    {"nvlink_training", "nvidia-nvlink", "Link training failed", "", ""},
    {"nvlink_training", "nvidia-nvlink", "link training failed", "", ""},
    {"nvlink_training", "nvidia-nvlink", "Failed to update Rx Detect Link", "", ""},
    {"nvlink_training", "nvidia-nvswitch", "", "link", "failed to train"},
    {"nvlink_training", "nvidia-nvswitch", "", "link", "training failed"},
    {"nvlink_training", "nvidia-nvswitch", "", "link", "failed to update rx detect"},
};

}  // namespace muster::nvidia_log
