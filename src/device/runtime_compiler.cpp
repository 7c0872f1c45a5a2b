#include "device/runtime_compiler.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/kernels.hpp"

namespace muster {

namespace {

struct Compiler {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*destroy)(void**) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*code_size)(void*, std::size_t*) = nullptr;
  int (*code)(void*, char*) = nullptr;
};

bool fill(const Library& library, const CompilerNames& names, Compiler& compiler) {
  const std::string& prefix = names.prefix;
  return library.fill(compiler.create, (prefix + "CreateProgram").c_str()) &&
         library.fill(compiler.compile, (prefix + "CompileProgram").c_str()) &&
         library.fill(compiler.destroy, (prefix + "DestroyProgram").c_str()) &&
         library.fill(compiler.log_size, (prefix + "GetProgramLogSize").c_str()) &&
         library.fill(compiler.log, (prefix + "GetProgramLog").c_str()) &&
         library.fill(compiler.code_size, names.code_size.c_str()) && library.fill(compiler.code, names.code.c_str());
}

std::string log_of(const Compiler& compiler, void* program) {
  std::size_t size = 0;
  if (compiler.log_size(program, &size) != 0 || size < 2 || size > 1u << 20) return {};
  std::string log(size, '\0');
  return compiler.log(program, log.data()) == 0 ? printable_line(log.c_str(), 300) : std::string();
}

Result<std::string> code_of(const Library& library, const Compiler& compiler, void* program,
                            const std::vector<std::string>& options) {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  if (const int code = compiler.compile(program, static_cast<int>(words.size()), words.data()); code != 0)
    return fail(ErrorKind::device, library.name(),
                fmt::format("did not compile the kernels ({}): {}", code, log_of(compiler, program)));
  std::size_t size = 0;
  if (compiler.code_size(program, &size) != 0 || size == 0 || size > 1u << 28)
    return fail(ErrorKind::device, library.name(), "compiled the kernels and gave no code");
  std::string image(size, '\0');
  if (compiler.code(program, image.data()) != 0)
    return fail(ErrorKind::device, library.name(), "compiled the kernels and gave no code");
  return image;
}

}  // namespace

Result<std::string> compile_kernels(const Library& library, const CompilerNames& names,
                                    const std::vector<std::string>& options) {
  if (!library.is_open())
    return fail(ErrorKind::device, library.name(), library.is_absent() ? "there is none" : library.error());
  Compiler compiler;
  if (!fill(library, names, compiler)) return fail(ErrorKind::device, library.name(), "lacks functions of a compiler");
  void* program = nullptr;
  const std::string source(kernel_source());
  if (const int code = compiler.create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr); code != 0)
    return fail(ErrorKind::device, library.name(), fmt::format("{}CreateProgram returned {}", names.prefix, code));
  auto image = code_of(library, compiler, program, options);
  static_cast<void>(compiler.destroy(&program));
  return image;
}

}  // namespace muster
