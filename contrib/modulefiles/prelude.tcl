# SPDX-License-Identifier: BSD-3-Clause

set unloading [expr {[module-info mode unload] || [module-info mode remove]}]
# Before anything is changed here.
set had(LD_PRELOAD) [expr {[info exists env(LD_PRELOAD)] ? $env(LD_PRELOAD) : {}}]

# What the command's `env` sets: UCX_TLS, and the folder of the plugin, by whichever variable its UCX is given that. Only asked
# when loading, as unloading needs no value.
proc ask { tool } {
    if {![module-info mode load]} { return {{} {}} }
    set program {e=$("$0" env) && unset UCX_MODULE_DIR UCX_PLUGIN_PATH && eval "$e" &&
        printf "%s\n" "${UCX_TLS-all}" "${UCX_MODULE_DIR-${UCX_PLUGIN_PATH%%:*}}"}
    if {[catch {exec sh -c $program $tool} answer] || [llength [split $answer \n]] != 2} {
        error "$tool env names no transports: see $tool doctor"
    }
    return [split $answer \n]
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

