"""Every kernel compiles to machine code of gfx90a and gfx942 by a clang that knows them: HIPRTC is a clang, too, but none runs
without a GPU's libraries. What HIP's headers give to kernels stands here in a few lines.

usage: amd_kernels_test.py FOLDER-OF-KERNELS
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TARGETS = ("gfx90a", "gfx942")
CLANGS = [f"clang-{version}" for version in range(22, 13, -1)] + ["clang"]
HIP = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
struct uint4 { unsigned int x, y, z, w; };
struct Three { unsigned int x, y, z; };
static __device__ inline Three three(unsigned int x, unsigned int y, unsigned int z) { return Three{x, y, z}; }
#define threadIdx three(__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
#define blockIdx three(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
#define blockDim three(__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
#define gridDim three(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), \\
                      __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(), 1)
#define __syncthreads __builtin_amdgcn_s_barrier
static __device__ inline unsigned long long atomicAdd(unsigned long long* to, unsigned long long value) {
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
extern "C" __device__ float expf(float);
extern "C" __device__ float logf(float);
"""


def knows(clang, target):
    tried = subprocess.run([clang, "-x", "c", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-S", "-o", "/dev/null", "-"],
                           input="", capture_output=True, text=True)
    return tried.returncode == 0


def compile_for(clang, target, source, folder):
    file = folder / "kernels.hip"
    file.write_text(HIP + source)
    made = folder / f"{target}.s"
    done = subprocess.run([clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={target}", "-nogpulib", "-nogpuinc", "-std=c++17",
                           "-O3", "-Wall", "-S", "-o", made, file], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{target}: {done.stderr}")
    return set(re.findall(r"\.amdhsa_kernel (\w+)", made.read_text()))


def main():
    kernels = pathlib.Path(sys.argv[1])
    files = [kernels / "kernels.cu", *sorted(file for file in kernels.glob("*.cu") if file.name != "kernels.cu")]
    source = "".join(file.read_text() for file in files)
    wanted = set(re.findall(r"__global__ void (?:__launch_bounds__\(\w+\) )?(\w+)", source))
    if len(wanted) < 6:
        sys.exit(f"{len(wanted)} kernels found in {kernels}: more are known to be there")
    tried = []
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            clang = next((name for name in CLANGS if shutil.which(name) and knows(name, target)), None)
            if clang is None:
                continue
            lacking = wanted - compile_for(clang, target, source, pathlib.Path(folder))
            if lacking:
                sys.exit(f"{target}: {clang} made no code of {sorted(lacking)}")
            tried.append(target)
            print(f"{target}: {clang} compiled {len(wanted)} kernels")
    if set(tried) != set(TARGETS):
        print(f"skipped: there is no clang for {', '.join(sorted(set(TARGETS) - set(tried)))}")
        sys.exit(77)


if __name__ == "__main__":
    main()
