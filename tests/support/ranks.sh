# shellcheck shell=bash
# Sourced by cli_*.sh after cli.sh: training over ranks of this machine.  Ends the test where there is no MPI.
if [ ! -e "${bin:?}/../lib/ambit/libambit_mpi.so" ] || ! command -v mpirun >/dev/null; then
    echo "no libambit_mpi.so or no mpirun"
    exit 77
fi
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # what MPI keeps until the end
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rtc_hwloc_vmhole=none # Open MPI 4.1 lays a map of the machine into a hole of mpirun's memory, now and then over its stack
# Open MPI's own folders: where they are shared, an mpirun that ends removes what another one is about to use.
mkdir "${work:?}.mpi"
trap 'rm -rf "$work" "$work.mpi"' EXIT
export OMPI_MCA_orte_tmpdir_base=$work.mpi
mpi=(mpirun --oversubscribe --bind-to none)

# ranks N ARGUMENTS...
ranks() { "${mpi[@]}" -n "$1" "$bin/ambit-train" "${@:2}"; }

# two_ranks "ARGUMENTS" "ARGUMENTS": of the first and of the second
two_ranks() {
    # shellcheck disable=SC2086 # words
    "${mpi[@]}" -n 1 "$bin/ambit-train" $1 : -n 1 "$bin/ambit-train" $2
}

# pid_of RANK FOLDER: the process that trains into it
pid_of() {
    local process
    for process in /proc/[0-9]*; do
        if [[ $(readlink "$process/exe" 2>/dev/null) == */ambit-train ]] && tr '\0' ' ' <"$process/cmdline" | grep -q -- "--out $2 $" &&
            tr '\0' '\n' <"$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1"; then
            echo "${process#/proc/}"
        fi
    done
}
