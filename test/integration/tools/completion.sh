#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion in bash and zsh: it offers the commands and options of --help, the words that an option allows, and files.
. "${abs_top_srcdir:?}/test/tap.sh"

folder=$abs_top_srcdir/contrib/completion
mkdir "$tap_dir/bin"
for name in ucx-verity verity-types; do
  [ ! -x "$abs_top_builddir/$name" ] || ln -s "$abs_top_builddir/$name" "$tap_dir/bin/"
done
PATH=$tap_dir/bin:$PATH
cd "$tap_dir" || exit 1
touch a_file

# ---- bash ---------------------------------------------------------------------------------------
# offers WORD...: what bash offers for the last word of a command line.
offers() {
  bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ucx_verity; printf "%s\n" "${COMPREPLY[@]}"' "$folder/ucx-verity" "$@" | sort | paste -sd' '
}
options_of() { "$@" --help | grep -Eo '^ {1,10}(-[a-z], *)?--[a-z0-9-]+' | grep -Eo -- '--[a-z0-9-]+' | sort | paste -sd' '; }
commands_of() { "$@" --help | sed -n '/^Subcommands:/I,$s/^  \([a-z][a-z0-9]*\) .*/\1/p' | sort; }
check_command() { # check_command COMMAND...: with what is below it
  local inner below
  is "bash: options of $*" "$(offers "$@" --)" "$(options_of "$@")"
  below=$(commands_of "$@")
  [ -n "$below" ] || return 0
  is "bash: commands of $*" "$(offers "$@" '')" "$(paste -sd' ' <<< "$below")"
  for inner in $below; do check_command "$@" "$inner"; done
}
check_command ucx-verity
[ ! -x "$tap_dir/bin/verity-types" ] || check_command verity-types
contains "bash: loaded for both commands" "$(bash --norc -c ". '$folder/verity-types'; complete -p")" '_ucx_verity verity-types'
is "bash: the beginning of a command" "$(offers ucx-verity do)" doctor
is "bash: the beginning of an option" "$(offers ucx-verity doctor --sel)" --selftest
is "bash: the words of an option" "$(offers ucx-verity check --drain-on '')" "critical never warning"
is "bash: the beginning of such a word" "$(offers ucx-verity check --drain-on = w)" warning
is "bash: a value that is no word: nothing, so that files come" "$(offers ucx-verity doctor --program '')" ""
is "bash: an option without a value is followed by no file's words" "$(offers ucx-verity check --json '')" ""
is "bash: a command that is not there" "$(offers ucx-verity-absent --)" ""

# ---- zsh ----------------------------------------------------------------------------------------
if ! command -v zsh > /dev/null || ! zsh -f -c 'zmodload zsh/zpty' 2> /dev/null; then
  skip "zsh" "no zsh with its module zsh/zpty"
  done_testing
fi
# In a terminal: a key that completes, and one that writes the line down.
cat > "$tap_dir/rc" << ZSH
fpath=($folder \$fpath)
autoload -Uz compinit && compinit -u -D
unsetopt beep list_beep
write-line() { print -r -- "\$BUFFER" >> $tap_dir/lines; BUFFER=; }
zle -N write-line
bindkey '^X' write-line
PS1=READY
ZSH
cat > "$tap_dir/type" << 'ZSH'
zmodload zsh/zpty
zpty shell TERM=dumb zsh -f -i
zpty -w shell ". $1/rc"
zpty -r shell seen '*READY*' || exit 1
for line in "${@[2,-1]}"; do
  before=$(wc -l < $1/lines)
  zpty -w -n shell "$line"$'\t'$'\x18'
  repeat 200; do
    zpty -r -t shell seen
    (( $(wc -l < $1/lines) > before )) && break
    sleep 0.05
  done
done
zpty -d shell
ZSH
: > "$tap_dir/lines"
timeout -k 5 60 zsh -f "$tap_dir/type" "$tap_dir" 'ucx-verity doc' 'ucx-verity doctor --sel' 'ucx-verity check --drain-on w' \
  'ucx-verity check --drain-on=n' 'ucx-verity doctor --program a_f' 'verity-types norm' 2> "$tap_dir/stderr"
mapfile -t lines < "$tap_dir/lines"
is "zsh: a command" "${lines[0]}" "ucx-verity doctor "
is "zsh: an option" "${lines[1]}" "ucx-verity doctor --selftest "
is "zsh: a word of an option" "${lines[2]}" "ucx-verity check --drain-on warning "
is "zsh: a word behind =" "${lines[3]}" "ucx-verity check --drain-on=never "
is "zsh: a file" "${lines[4]}" "ucx-verity doctor --program a_file "
if [ -x "$tap_dir/bin/verity-types" ]; then
  is "zsh: verity-types" "${lines[5]}" "verity-types normalize "
fi
done_testing
