"""MPI_Init and a few questions by ctypes. MPI4PY_LIBRARY: what the library says of itself; MPI4PY_ALONE: it knows no launcher."""
import ctypes
import os

import mpi4py

_ALONE = "MPI4PY_ALONE" in os.environ
if "MPI4PY_BROKEN" in os.environ:
    raise ImportError("libmpi.so.12: cannot open shared object file: No such file or directory")
_mpi = ctypes.CDLL(os.environ.get("MPI4PY_LIBMPI", "libmpi.so.40"), mode=ctypes.RTLD_GLOBAL)


def Get_library_version():
    if "MPI4PY_LIBRARY" in os.environ:
        return os.environ["MPI4PY_LIBRARY"]
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    _mpi.MPI_Get_library_version(text, ctypes.byref(length))
    return text.raw[:length.value].decode()  # as mpi4py: Open MPI counts the final NUL


class _World:
    def _ask(self, call):
        number = ctypes.c_int()
        world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(_mpi, "ompi_mpi_comm_world")))
        getattr(_mpi, call)(world, ctypes.byref(number))
        return number.value

    def Get_rank(self):
        return 0 if _ALONE else self._ask("MPI_Comm_rank")

    def Get_size(self):
        return 1 if _ALONE else self._ask("MPI_Comm_size")


COMM_WORLD = _World()


def Finalize():
    if not _ALONE:
        _mpi.MPI_Finalize()


if mpi4py.rc.initialize and not _ALONE:
    _mpi.MPI_Init(None, None)
