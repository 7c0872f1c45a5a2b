/// What AMD's GPUs can do at most, by its data sheets.
#pragma once

#include "device/device_models.hpp"

namespace muster {

namespace amd_sheets {

inline constexpr std::string_view mi200 = "AMD Instinct MI200 series, data sheets (of one of two dies)";
inline constexpr std::string_view frontier =
    "AMD Instinct MI250X, data sheet (of one of two dies); links: OLCF, Frontier User Guide";
inline constexpr std::string_view mi300 = "AMD Instinct MI300 series, data sheets";

}  // namespace amd_sheets

// Figures per second are those of the data sheets, of dense products; whole numbers of 8 bits are twice as fast as
// halves from CDNA 3 on, and as fast as these on CDNA 1 and 2 (test DeviceModels.WholeNumbersAndHalves).
// Caches: "AMD GPU specifications" of the ROCm documentation, L2 of all dies and, of the MI300 series, the Infinity
// Cache (256 MiB and 4 for each XCD). docs/methods/gpu_copy.md lists the parts not held against its source.
inline constexpr DeviceModel amd_models[] = {
    DeviceModel{.name = "MI100",
                .part = "MI100",
                .processors = 120,
                .memory = 1229,
                .cache = 8,
                .fp64 = 11.5,
                .fp32 = 46.1,
                .fp16 = 184.6,
                .bf16 = 92.3,
                .int8 = 184.6,
                .pcie = 4,
                .source = "AMD Instinct MI100, data sheet"},
    DeviceModel{.name = "MI210",
                .part = "MI210",
                .processors = 104,
                .memory = 1638,
                .cache = 8,
                .fp64 = 45.3,
                .fp32 = 45.3,
                .fp16 = 181,
                .bf16 = 181,
                .int8 = 181,
                .pcie = 4,
                .source = amd_sheets::mi200},
    DeviceModel{.name = "MI250X",
                .part = "MI250X",
                .processors = 110,
                .memory = 1638,
                .cache = 8,
                .fp64 = 47.9,
                .fp32 = 47.9,
                .fp16 = 191.5,
                .bf16 = 191.5,
                .int8 = 191.5,
                .links = 8,
                .link = 50,
                .pcie = 4,
                .host = 36,
                .host_way = "xGMI",
                .source = amd_sheets::frontier},
    DeviceModel{.name = "MI250",
                .part = "MI250",
                .processors = 104,
                .memory = 1638,
                .cache = 8,
                .fp64 = 45.3,
                .fp32 = 45.3,
                .fp16 = 181,
                .bf16 = 181,
                .int8 = 181,
                .pcie = 4,
                .source = amd_sheets::mi200},
    DeviceModel{.name = "MI300A",
                .part = "MI300A",
                .processors = 228,
                .memory = 5325,
                .cache = 280,
                .fp64 = 122.6,
                .fp32 = 122.6,
                .tf32 = 490.3,
                .fp16 = 980.6,
                .bf16 = 980.6,
                .int8 = 1961.2,
                .pcie = 5,
                .source = amd_sheets::mi300},
    DeviceModel{.name = "MI300X",
                .part = "MI300X",
                .processors = 304,
                .memory = 5325,
                .cache = 288,
                .fp64 = 163.4,
                .fp32 = 163.4,
                .tf32 = 653.7,
                .fp16 = 1307.4,
                .bf16 = 1307.4,
                .int8 = 2614.9,
                .links = 7,
                .link = 64,
                .pcie = 5,
                .source = amd_sheets::mi300},
    DeviceModel{.name = "MI325X",
                .part = "MI325X",
                .processors = 304,
                .memory = 6000,
                .cache = 288,
                .fp64 = 163.4,
                .fp32 = 163.4,
                .tf32 = 653.7,
                .fp16 = 1307.4,
                .bf16 = 1307.4,
                .int8 = 2614.9,
                .links = 7,
                .link = 64,
                .pcie = 5,
                .source = amd_sheets::mi300},
};

}  // namespace muster
