"""Stands in for mpi4py where it is not installed: the few calls that tests make, on the MPI library of this machine."""
__version__ = "4.0.0"


class rc:
    initialize = True
    finalize = None
