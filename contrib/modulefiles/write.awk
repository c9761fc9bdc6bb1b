# SPDX-License-Identifier: BSD-3-Clause
#
# Writes a modulefile: awk -v language=lua|tcl -v variant=VARIANT -v prelude=FILE -f write.awk ucx-verity.module
# The prelude has the functions that the language lacks.
#
# The lines of the source, each of which may start with the variant that alone has it (plain, typecheck, transparent):
#
#   help TEXT                      a line of the help
#   whatis TEXT
#   family NAME                    at most one module of a family is loaded
#   conflict NAME...
#   ask A B C D [OPTION] COMMAND   when loading, $A, $B, $C and $D are what "COMMAND env OPTION" sets as UCX_TLS, the plugin's folder,
#                                  Open MPI's filter and UCX_VERITY_TRANSPARENT; the load fails where it sets no folder, and all
#                                  else is empty where it is not set
#   prepend-path VARIABLE ENTRIES
#   set VARIABLE VALUE             unset by the unload
#   replace VARIABLE VALUE         the unload restores the value before
#   replace-some VARIABLE VALUE    the same, where the value is not empty
#   manual FOLDER                  MANPATH
#   added-later LIST TEXT ENTRIES  the unload removes these entries where LIST has TEXT, which something else added
#   added-later VARIABLE           and unsets this variable in that case
#
# A VALUE is taken as it is, or is one of $A to $D.

BEGIN {
  lua = language == "lua"
  comment = lua ? "-- " : "# "
  if (!lua) print "#%Module1.0"
  print comment "SPDX-License-Identifier: BSD-3-Clause"
  print comment "@generated@"
  while ((getline content < prelude) > 0) if (content !~ /SPDX/) print content
}

/^#/ || NF == 0 { next }
$1 ~ /^(plain|typecheck|transparent)$/ {
  if ($1 != variant) next
  sub(/^[a-z]+ /, "")
}
$1 == "help" { help_text = help_text substr($0, 6) "\n"; next }
help_text != "" { help_end() }
$1 == "whatis" { line(lua ? "whatis(" text(rest(2)) ")" : "module-whatis " text(rest(2))); next }
$1 == "family" { line(lua ? "family(" text($2) ")" : "if {[info commands family] ne \"\"} { family " $2 " }"); next }
$1 == "conflict" { conflict(); next }
$1 == "ask" { ask($2 ", " $3 ", " $4 ", " $5, $6 ~ /^--/ ? $6 : "", rest($6 ~ /^--/ ? 7 : 6)); next }
$1 == "manual" { line(lua ? "manual(" text(rest(2)) ")" : "manual " text(rest(2))); next }
$1 == "prepend-path" { call(lua ? "prepend_path" : "prepend-path", $2, text(rest(3))); next }
$1 == "set" { call("setenv", $2, value(rest(3))); next }
$1 == "replace" { call(lua ? "pushenv" : "replace", $2, value(rest(3))); next }
$1 == "replace-some" { call(lua ? "replace_some" : "replace-some", $2, value(rest(3))); next }
$1 == "added-later" && NF == 2 { added_later("setenv", $2, "", list, mark); next }
$1 == "added-later" { list = $2; mark = $3; added_later(lua ? "prepend_path" : "prepend-path", $2, rest(4), list, mark); next }
{
  print FILENAME ":" FNR ": unknown directive " $1 > "/dev/stderr"
  exit 1
}

# The line from field `first` on.
function rest(first,    i, left) {
  left = $0
  for (i = 1; i < first; ++i) sub(/^[^ ]* */, "", left)
  return left
}
function line(content) { print content }
function call(name, variable, quoted) { line(lua ? name "(\"" variable "\", " quoted ")" : name " " variable " " quoted) }
# As one word of the language.
function text(content) { return lua ? "\"" escaped(content, "[\\\\\"]") "\"" : "\"" escaped(content, "[\\\\\"$[]") "\"" }
function escaped(content, special,    i, c, out) {
  for (i = 1; i <= length(content); ++i) {
    c = substr(content, i, 1)
    out = out (c ~ special ? "\\" : "") c
  }
  return out
}
function value(content) { return content ~ /^[$]/ ? (lua ? substr(content, 2) : content) : text(content) }

function help_end() {
  if (lua) printf "help([==[\n%s]==])\n", help_text
  else printf "proc ModulesHelp { } {\n    puts stderr {\n%s}\n}\n", help_text
  help_text = ""
}

function conflict(    i, names) {
  for (i = 2; i <= NF; ++i) names = names (lua && i > 2 ? ", " : i > 2 ? " " : "") (lua ? text($i) : $i)
  line(lua ? "conflict(" names ")" : "conflict " names)
}

function ask(names, option, command) {
  if (lua) {
    line("local " names " = ask(" text(command) ", " text(option) ")")
  } else {
    line("if {[catch {ask " text(command) " " text(option) "} answer]} { puts stderr $answer; break }")
    gsub(",", "", names)
    line("lassign $answer " names)
  }
}

function added_later(name, variable, content, list, mark) {
  if (lua) {
    line("if mode() == \"unload\" and had." list ":find(" text(mark) ", 1, true) then")
    line("  " name "(\"" variable "\", " text(content) ")")
    line("end")
  } else {
    line("if {$unloading && [string first " text(mark) " $had(" list ")] >= 0} { " name " " variable " " text(content) " }")
  }
}
