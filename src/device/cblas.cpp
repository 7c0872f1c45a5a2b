#include "device/cblas.hpp"

#include <array>
#include <dlfcn.h>
#include <memory>
#include <vector>

#include "base/text.hpp"

namespace muster {

namespace {

// As every CBLAS header has them.
constexpr int row_major = 101;
constexpr int as_is = 111;
constexpr int transposed = 112;

std::string name_of(void* handle, const char* library) {
  using Config = char* (*)();
  if (const auto config = reinterpret_cast<Config>(::dlsym(handle, "openblas_get_config")))
    if (const char* text = config()) {
      // `OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64`
      const auto words = split(printable_line(text), ' ');
      if (words.size() >= 2) return words[0] + " " + words[1];
    }
  const std::string_view path(library);
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

const Cblas* Cblas::open(const char* library) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  static Cblas found;
  found.multiply_ = reinterpret_cast<Multiply>(::dlsym(handle, "cblas_sgemm"));
  found.set_threads_ = reinterpret_cast<SetThreads>(::dlsym(handle, "openblas_set_num_threads"));
  if (found.multiply_ == nullptr || !found.is_right()) return nullptr;
  found.name_ = name_of(handle, library);
  return &found;
}

const Cblas* Cblas::find() {
  static const Cblas* const found = []() -> const Cblas* {
    for (const char* library : {MUSTER_CBLAS, "libopenblas.so.0", "libopenblas.so", "libcblas.so.3"})
      if (*library != '\0')
        if (const Cblas* opened = open(library)) return opened;
    return nullptr;
  }();
  return found;
}

bool Cblas::is_right() const {
  // A library whose integers are of 64 bits would read other sizes than we write.
  const std::array<float, 6> a{1, 2, 3, 4, 5, 6};
  const std::array<float, 6> b{1, 0, 2, 1, 0, 3};
  std::array<float, 4> c{};
  multiply({a.data(), b.data(), c.data(), 2, 2, 3});
  if (c != std::array<float, 4>{5, 11, 14, 23}) return false;
  multiply({a.data(), b.data(), c.data(), 2, 2, 3, true, true});
  return c == std::array<float, 4>{11, 16, 14, 20};
}

void Cblas::multiply(const Product& p) const {
  if (p.rows == 0 || p.columns == 0) return;
  multiply_(row_major, p.is_a_transposed ? transposed : as_is, p.is_b_transposed ? transposed : as_is, p.rows,
            p.columns, p.inner, 1, p.a, p.is_a_transposed ? p.rows : p.inner, p.b,
            p.is_b_transposed ? p.inner : p.columns, 0, p.c, p.columns);
}

bool Cblas::set_threads(int threads) const {
  if (set_threads_ == nullptr) return false;
  set_threads_(threads);
  return true;
}

}  // namespace muster
