/// Messages of amdgpu in the kernel's log.
#pragma once

#include "model/kernel_patterns.hpp"

namespace muster::amd_log {

inline constexpr auto is_fault = Verdict::fail;
inline constexpr auto is_note = Verdict::pass;
inline constexpr auto with_address = OfGpu::with_address;

inline constexpr std::string_view reseat =
    "drain and power-cycle the node; have the GPU reseated, then replaced, if it recurs";
inline constexpr std::string_view reset = "drain the node and reset the GPU or reboot; have it replaced if it recurs";
inline constexpr std::string_view ras_note = "watch their number; above a few each hour have the GPU replaced";
inline constexpr std::string_view program =
    "find the program that ran then; if it recurs with other programs, have the GPU replaced";

// docs/kernel-log.md is the table for people.
inline constexpr KernelKind kinds[] = {
    {"amd_uncorrected", is_fault, "uncorrected errors of the GPU (RAS)", reset, with_address},
    {"amd_corrected", is_note, "corrected errors of the GPU (RAS)", ras_note, with_address},
    {"amd_bad_pages", is_fault, "more bad pages of memory than the GPU may have",
     "drain the node and have the GPU replaced", with_address},
    {"amd_fatal", is_fault, "a fatal error of the GPU", reset, with_address},
    {"amd_lost", is_fault, "the driver has lost the GPU", reseat, with_address},
    {"amd_reset_failed", is_fault, "a reset of the GPU failed", reset, with_address},
    {"amd_init", is_fault, "the driver could not initialise it", reseat, with_address},
    {"amd_ring", is_note, "a queue of the GPU did not finish in time", program, with_address},
    {"amd_reset", is_note, "the driver reset the GPU", program, with_address},
};

// The first that fits counts.
inline constexpr KernelPattern patterns[] = {
    {"amd_uncorrected", "amdgpu", "", " uncorrectable hardware error", ""},
    {"amd_uncorrected", "amdgpu", "uncorrectable hardware error", "", ""},
    {"amd_corrected", "amdgpu", "", " correctable hardware error", ""},
    {"amd_bad_pages", "amdgpu", "", "threshold", "bad page"},
    {"amd_bad_pages", "amdgpu", "", "threshold", "RAS record"},
    {"amd_init", "amdgpu", "", "fatal error during GPU init", ""},
    {"amd_init", "amdgpu", "", "probe", "failed with error"},
    {"amd_fatal", "amdgpu", "", "fatal error", ""},
    {"amd_lost", "amdgpu", "", "GPU is lost", ""},
    {"amd_lost", "amdgpu", "", "device lost from bus", ""},
    {"amd_reset_failed", "amdgpu", "GPU reset", "failed", ""},
    {"amd_reset_failed", "amdgpu", "GPU Recovery", "failed", ""},
    {"amd_ring", "amdgpu", "", "ring ", "timeout"},
    {"amd_ring", "", "[drm:amdgpu_job_timedout", "ring ", "timeout"},
    {"amd_reset", "amdgpu", "GPU reset begin", "", ""},
};

}  // namespace muster::amd_log
