// Libraries that a program may be told to load: a plugin, one that crashes, one that hangs.
#include <csignal>
#include <unistd.h>

#ifdef IS_PLUGIN
extern "C" int ncclNetPlugin_v8;
int ncclNetPlugin_v8 = 8;
#endif

namespace {

[[gnu::constructor]] void begin() {
#ifdef CRASHES
  ::raise(SIGSEGV);
#endif
#ifdef HANGS
  for (;;) ::pause();
#endif
}

}  // namespace
