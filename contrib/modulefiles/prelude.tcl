# SPDX-License-Identifier: BSD-3-Clause

set unloading [expr {[module-info mode unload] || [module-info mode remove]}]
# Before anything is changed here.
set had(LD_PRELOAD) [expr {[info exists env(LD_PRELOAD)] ? $env(LD_PRELOAD) : {}}]

# What the command's `env` sets: UCX_TLS, the folder of the plugin, by whichever variable its UCX is given that, Open MPI's filter,
# UCX_VERITY_TRANSPARENT. Only asked when loading, as unloading needs no value.
proc ask { tool option } {
    if {![module-info mode load]} { return {{} {} {} {}} }
    set program {e=$("$0" env "$@") &&
        unset UCX_TLS UCX_MODULE_DIR UCX_PLUGIN_PATH OMPI_MCA_opal_common_ucx_tls UCX_VERITY_TRANSPARENT && eval "$e" &&
        printf "%s\n" "${UCX_TLS-}" "${UCX_MODULE_DIR-${UCX_PLUGIN_PATH%%:*}}" "${OMPI_MCA_opal_common_ucx_tls-}" \
          "${UCX_VERITY_TRANSPARENT-}" end}
    if {[catch {exec sh -c $program $tool {*}$option} answer] || [llength [set lines [split $answer \n]]] != 5 ||
        [lindex $lines 1] eq {}} {
        error "$tool env names no plugin: see $tool doctor"
    }
    return [lrange $lines 0 3]
}

# The value before is kept in a variable of its own: pushenv, which is new in Modules 5.1, keeps lists between colons, and a
# value may have these as well. When unloading, unsetenv with a value sets it. setenv leaves its value in `env` also when
# unloading, where the load that follows in a switch would take it for the value before.
proc replace { name value } {
    global env unloading
    set before VERITY_MODULE_BEFORE_$name
    if {!$unloading} {
        if {[info exists env($name)]} { setenv $before $env($name) }
        setenv $name $value
    } elseif {[info exists env($before)]} {
        unsetenv $name $env($before)
        unset_now $before
    } else {
        unset_now $name
    }
}
# A mark says whether the load replaced it, and the unload has to restore it.
proc replace-some { name value } {
    global env unloading
    set mark VERITY_MODULE_SET_$name
    if {$unloading ? ![info exists env($mark)] : $value eq {}} { return }
    if {$unloading} { unset_now $mark } else { setenv $mark y }
    replace $name $value
}
proc unset_now { name } {
    global env
    setenv $name {}
    unset -nocomplain env($name)
}

# An empty entry stands for the system's own pages: needed where nothing else is there, left as it is elsewhere.
proc manual { folder } {
    global env
    set now [expr {[info exists env(MANPATH)] ? $env(MANPATH) : {}}]
    set is_alone [expr {$now in [list {} "${folder}:" "${folder}::"]}]
    prepend-path MANPATH $folder
    if {$is_alone} { append-path MANPATH {} }
}

