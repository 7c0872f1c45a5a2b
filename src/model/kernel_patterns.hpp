/// How messages of the kernel's log look, and how each kind of them is judged: data of src/device/kernel_log_rules.cpp
/// and of each vendor.
#pragma once

#include <string_view>

#include "muster/verdict.hpp"

namespace muster {

/// Whether a kind of message counts only for a GPU that the node has; of one that is not there it is of the past.
enum class OfGpu : unsigned char {
  no,
  with_address,  ///< if the message has an address; else it is about the node
  always,
};

/// How one kind of message is judged. docs/kernel-log.md is the table for people.
struct KernelKind {
  std::string_view name;            ///< `gpu_lost`
  Verdict verdict = Verdict::pass;  ///< pass: a note
  std::string_view words;           ///< `it has fallen off the bus`
  std::string_view remedy;          ///< a sentence without a full stop
  OfGpu of_gpu = OfGpu::no;
  std::string_view number = {};  ///< what the driver calls the number in the message: `SXid`
};

/// What messages of a kind look like.
struct KernelPattern {
  std::string_view kind;
  std::string_view driver;  ///< the message begins with it: `nvme`; `*`: any driver of a PCI device; empty: no driver
  std::string_view begin;   ///< of what comes behind driver and device; `%`: a number, `$`: a name, `&`: a letter
  std::string_view has;     ///< in it, in any case of letters; so is the next
  std::string_view has_too;
};

}  // namespace muster
