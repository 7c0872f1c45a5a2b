// Stands in for libnvrtc.so.12 and, with FAKE_HIPRTC, for libhiprtc.so.6: what it makes of a source is the source.
#include <cstring>
#include <string>

#include "sheet.hpp"

#ifdef FAKE_HIPRTC
#define NAME(nvidia, amd) amd
#else
#define NAME(nvidia, amd) nvidia
#endif
#define CALL(nvidia, amd, ...) extern "C" __attribute__((visibility("default"))) int NAME(nvidia, amd)(__VA_ARGS__)

namespace {

struct Program {
  std::string source;
  bool is_compiled = false;
};

Program* as_program(void* program) {
  return static_cast<Program*>(program);
}

}  // namespace

CALL(nvrtcCreateProgram, hiprtcCreateProgram, void** program, const char* source, const char*, int, const char* const*,
     const char* const*) {
  *program = new Program{source, false};
  return 0;
}
CALL(nvrtcCompileProgram, hiprtcCompileProgram, void* program, int, const char* const*) {
  if (const int code = fake::entered(NAME("nvrtcCompileProgram", "hiprtcCompileProgram")); code != 0) return code;
  as_program(program)->is_compiled = true;
  return 0;
}
CALL(nvrtcDestroyProgram, hiprtcDestroyProgram, void** program) {
  delete as_program(*program);
  *program = nullptr;
  return 0;
}
CALL(nvrtcGetProgramLogSize, hiprtcGetProgramLogSize, void*, std::size_t* size) {
  *size = sizeof "kernels.cu(1): error: refused";
  return 0;
}
CALL(nvrtcGetProgramLog, hiprtcGetProgramLog, void*, char* log) {
  std::strcpy(log, "kernels.cu(1): error: refused");
  return 0;
}
CALL(nvrtcGetPTXSize, hiprtcGetCodeSize, void* program, std::size_t* size) {
  *size = as_program(program)->is_compiled ? as_program(program)->source.size() + 1 : 0;
  return 0;
}
CALL(nvrtcGetPTX, hiprtcGetCode, void* program, char* code) {
  std::strcpy(code, as_program(program)->source.c_str());
  return 0;
}
