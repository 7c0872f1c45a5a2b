/// Who wants to know which call of a vendor's library is under way, so that one that never returns is named.
#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

#include "base/call_recorder.hpp"
#include "muster/probe.hpp"

namespace muster {

/// Called before every call, and after its return; may be empty. Polling calls are not
/// reported: a rank that polls is to be found in the operation it waits for.
class CallWatch {
 public:
  using DeviceSink = std::function<void(std::string_view)>;

  CallWatch() = default;
  /// `call`: given the name before a call, an empty one after it. `device`: the GPU that calls are about from now on.
  template <std::invocable<std::string_view> Call>
  CallWatch(Call call, DeviceSink device = {}) : call_(std::move(call)), device_(std::move(device)) {}
  /// A flight recorder, which must outlive it; one that takes no calls gets none.
  CallWatch(Recorder& recorder) {
    auto* calls = dynamic_cast<CallRecorder*>(&recorder);
    if (calls == nullptr) return;
    call_ = [calls](std::string_view name) { calls->call(name); };
    device_ = [calls](std::string_view label) { calls->device(label); };
  }

  void device(std::string_view label) const {
    if (device_) device_(label);
  }
  /// What `function` returns.
  template <class Function, class... Arguments>
  auto operator()(std::string_view name, Function function, Arguments... arguments) const {
    const Inside inside(*this, name);
    return function(arguments...);
  }

 private:
  struct Inside {
    Inside(const CallWatch& watch, std::string_view name) : watch_(watch) {
      if (watch_.call_) watch_.call_(name);
    }
    ~Inside() {
      if (watch_.call_) watch_.call_({});
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    const CallWatch& watch_;
  };

  DeviceSink call_;
  DeviceSink device_;
};

}  // namespace muster
