#!/bin/sh
# muster's agent with the libraries of the machine on which it was built. The agent gives the variables back once MPI runs.
here=$(cd "${0%/*}" && pwd)
export MUSTER_BUNDLED_LIBRARY_PATH="${LD_LIBRARY_PATH-}"
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMPI_MCA_mca_base_component_path="$here/openmpi" OPAL_PKGDATADIR="$here/openmpi/help"
export PMIX_MCA_mca_base_component_path="$here/pmix"
exec "$here/programs/${0##*/}" "$@"
