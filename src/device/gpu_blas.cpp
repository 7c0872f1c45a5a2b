#include "device/gpu_blas.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/gpu_backend.hpp"
#include "device/gpu_blas_table.hpp"

namespace muster {

namespace {

/// As much as cuBLAS would take itself on the largest devices, 32 MiB (its manual, cublasSetWorkspace). With memory of
/// its own it may choose another order of sums each time.
constexpr std::size_t scratch_bytes = std::size_t{32} << 20;

std::size_t index_of(NumberType type) {
  return static_cast<std::size_t>(type);
}

}  // namespace

std::string_view to_string(NumberType type) {
  constexpr std::string_view names[] = {"float64", "float32", "tf32", "float16", "bfloat16", "int8"};
  return names[index_of(type)];
}

std::size_t bytes_of_input(NumberType type) {
  constexpr std::size_t bytes[] = {8, 4, 4, 2, 2, 1};
  return bytes[index_of(type)];
}

std::size_t bytes_of_result(NumberType type) {
  return type == NumberType::float64 ? 8 : 4;
}

std::function<std::string(int)> blas_words(const char* (*name)(int), const char* (*text)(int)) {
  return [name, text](int code) {
    const char* called = name == nullptr ? nullptr : name(code);
    const char* reported = text == nullptr ? nullptr : text(code);
    std::string words = called == nullptr ? "" : called;
    if (reported != nullptr) words += fmt::format("{}{}", words.empty() ? "" : ", ", reported);
    return words.empty() ? std::string("a code without words") : printable_line(words, 160);
  };
}

GpuBlasLibrary open_gpu_blas_library(
    std::initializer_list<const char*> names, const CallWatch& watch,
    const std::function<bool(const Library&, GpuBlasTable&, std::vector<std::string>& missing)>& fill) {
  const Library library = watch(fmt::format("dlopen {}", *names.begin()), [&] { return Library::open(names); });
  GpuBlasLibrary opened;
  LibraryReport& report = opened.report;
  report.name = library.name().substr(library.name().rfind('/') + 1);
  report.file = library.file();
  if (library.is_absent()) return opened;
  report.state = LibraryState::broken;
  report.error = library.error();
  if (!library.is_open()) return opened;
  auto table = std::make_shared<GpuBlasTable>();
  if (!fill(library, *table, report.missing)) {
    report.error = fmt::format("it lacks {}", human_list(report.missing));
    return opened;
  }
  report.state = LibraryState::working;
  opened.table = std::move(table);
  return opened;
}

GpuBlasLibrary open_gpu_blas(std::string_view vendor, const CallWatch& watch) {
  const GpuBackend* backend = find_gpu_backend(vendor);
  return backend == nullptr || backend->open_blas == nullptr ? GpuBlasLibrary() : backend->open_blas(watch);
}

GpuBlas::GpuBlas(std::shared_ptr<const GpuBlasTable> table, const Gpus& gpus, int device, CallWatch watch)
    : table_(std::move(table)), gpus_(gpus), device_(device), watch_(std::move(watch)) {}

template <class Call, class... Args>
Result<void> GpuBlas::ask(const Call& call, Args... args) const {
  code_ = watch_(call.name, call.function, args...);
  if (code_ == 0) return {};
  return fail(ErrorKind::device, gpus_.devices()[static_cast<std::size_t>(device_)].full_label(),
              fmt::format("{} returned {}: {}", call.name, code_, table_->words(code_)));
}

Result<std::unique_ptr<GpuBlas>> GpuBlas::make(const GpuBlasLibrary& library, const Gpus& gpus, int device,
                                               CallWatch watch) {
  if (library.table == nullptr)
    return fail(ErrorKind::device, library.report.name,
                library.report.state == LibraryState::absent ? "there is none" : library.report.error);
  std::unique_ptr<GpuBlas> blas(new GpuBlas(library.table, gpus, device, std::move(watch)));
  if (auto done = blas->set_up(); !done) return tl::unexpected(done.error());
  return blas;
}

GpuBlas::~GpuBlas() {
  if (handle_ == nullptr || !gpus_.make_current(device_)) return;
  static_cast<void>(ask(table_->destroy, handle_));
}

Result<void> GpuBlas::set_up() {
  // The handle is for the device that is current.
  if (auto used = gpus_.make_current(device_); !used) return used;
  if (auto made = ask(table_->create, &handle_); !made) {
    handle_ = nullptr;
    return made;
  }
  if (table_->set_math_mode.function != nullptr)
    if (auto set = ask(table_->set_math_mode, handle_, table_->math_mode); !set) return set;
  if (table_->set_atomics.function != nullptr)
    if (auto set = ask(table_->set_atomics, handle_, 0); !set) return set;
  if (table_->set_workspace.function == nullptr) return {};
  auto scratch = gpus_.allocate(device_, scratch_bytes);
  if (!scratch) return tl::unexpected(scratch.error());
  scratch_ = std::move(*scratch);
  return {};
}

Result<void> GpuBlas::bind(void* stream) {
  if (stream_ == stream) return {};
  if (auto set = ask(table_->set_stream, handle_, stream); !set) return set;
  // After the stream: that takes the library's own scratch memory again.
  if (scratch_)
    if (auto set = ask(table_->set_workspace, handle_, scratch_.get(), scratch_bytes); !set) return set;
  stream_ = stream;
  return {};
}

bool GpuBlas::has(NumberType type) const {
  return table_->types[index_of(type)].input >= 0;
}

std::string GpuBlas::withheld(NumberType type) const {
  const auto found = table_->withheld.find(type);
  return found == table_->withheld.end() ? std::string() : found->second;
}

const std::string& GpuBlas::name() const {
  return table_->label;
}

Result<void> GpuBlas::multiply(const GpuProduct& p, void* stream) {
  was_refused_ = false;
  const BlasTypes& types = table_->types[index_of(p.type)];
  if (types.input < 0) {
    was_refused_ = true;
    return fail(ErrorKind::device, table_->label, fmt::format("it has no products of {}", to_string(p.type)));
  }
  if (auto used = gpus_.make_current(device_); !used) return used;
  if (auto bound = bind(stream); !bound) return bound;
  union {
    double real64;
    float real32;
    int whole;
  } one{}, zero{};
  zero.real64 = 0;
  if (p.type == NumberType::float64)
    one.real64 = 1;
  else if (p.type == NumberType::int8)
    one.whole = 1;
  else
    one.real32 = 1;
  // The libraries go down columns: to them our rows are columns, and the product is B' A'.
  auto done = ask(table_->multiply, handle_, p.is_b_transposed ? table_->transposed : table_->as_is,
                  p.is_a_transposed ? table_->transposed : table_->as_is, p.columns, p.rows, p.inner,
                  static_cast<const void*>(&one), p.b, types.input, p.is_b_transposed ? p.inner : p.columns, p.a,
                  types.input, p.is_a_transposed ? p.rows : p.inner, static_cast<const void*>(&zero), p.c, types.result,
                  p.columns, types.compute, table_->algorithm);
  if (!done) was_refused_ = code_ == table_->refusals[0] || code_ == table_->refusals[1];
  return done;
}

}  // namespace muster
