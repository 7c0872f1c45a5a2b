"""muster from a checkout: `spack repo add packaging/spack`, then `spack dev-build -d . muster@main`."""
from spack.package import *

try:
    # Since Spack 1.0 classes of build systems are the builtin repository's; before, the line above has them.
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Muster(CMakePackage):
    """Diagnostic and verification suite for GPU clusters: which node, device, link or setting is at fault."""

    # There is no address for releases yet: spack dev-build names the checkout.
    version("main", branch="main")
    version("0.1.0")

    variant("openblas", default=True, description="A CBLAS for probe training, which is opened at run time")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hwloc@2:")
    depends_on("fmt@8:")
    depends_on("cli11@2:")
    depends_on("tomlplusplus@3:")
    depends_on("nlohmann-json@3.9:")
    depends_on("libuv@1.40:")
    depends_on("re2")
    depends_on("libsodium@1.0.12:")
    # The installed headers include it.
    depends_on("tl-expected@1:", type=("build", "link", "run"))
    depends_on("pugixml@1.10:")
    depends_on("openblas", when="+openblas")
    # SQLiteCpp, of which no recipe is known, comes from its pinned archive (cmake/dependencies.cmake); on a machine
    # without a way out, MUSTER_ARCHIVES names a folder that has it.

    # C++20 with the parts of the library that are used.
    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        return [
            self.define("MUSTER_TESTS", False),
            self.define("MUSTER_BENCH", False),
            self.define("MUSTER_WERROR", False),
            self.define("MUSTER_UNITY", True),
            # One agent, for the MPI that was asked for.
            self.define("MUSTER_MPICH", "OFF"),
            self.define("MUSTER_SYSTEM_LIBRARIES", True),
        ]

    def setup_run_environment(self, env):
        if self.spec.satisfies("+openblas"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["openblas"].prefix.lib)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        muster = Executable(self.prefix.bin.muster)
        muster("--version")
        muster("lint", self.prefix.share.muster.checks)
        muster("run", "-n", "^hello$", "--launcher", "local", "--output", join_path(self.stage.path, "runs"))
