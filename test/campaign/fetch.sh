# SPDX-License-Identifier: BSD-3-Clause
#
# Packages for the campaign, by apt with lists and archives of its own in the cache: nothing is installed and root is not needed.
# shellcheck shell=bash disable=SC2154 # $cache, $work: of the script that sources this

apt_folder=$cache/apt

# The distribution's own lists, with sources.
apt_lists() {
  local file
  mkdir -p "$apt_folder"/{lists/partial,archives/partial,sources,parts}
  for file in /etc/apt/sources.list.d/debian.sources; do
    [ ! -e "$file" ] || sed 's/^Types: deb$/Types: deb deb-src/' "$file" > "$apt_folder/parts/$(basename "$file")"
  done
  if [ -e /etc/apt/sources.list ]; then
    sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' /etc/apt/sources.list > "$apt_folder/sources.list"
  else
    : > "$apt_folder/sources.list"
  fi
  cat > "$apt_folder/apt.conf" <<CONF
Dir::Etc::sourcelist "$apt_folder/sources.list";
Dir::Etc::sourceparts "$apt_folder/parts";
Dir::State::lists "$apt_folder/lists";
Dir::Cache "$apt_folder";
Dir::Cache::archives "$apt_folder/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Debug::NoLocking "1";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Acquire::Retries "1";
CONF
}

campaign_apt() { # campaign_apt COMMAND...: apt-get with those lists
  if [ ! -e "$apt_folder/updated" ]; then
    apt_lists
    APT_CONFIG=$apt_folder/apt.conf apt-get -q update > "$apt_folder/update.log" 2>&1 || {
      echo "apt-get update failed: $(tail -n 1 "$apt_folder/update.log")"
      return 1
    }
    touch "$apt_folder/updated"
  fi
  APT_CONFIG=$apt_folder/apt.conf apt-get -q -y "$@" > "$apt_folder/last.log" 2>&1 || {
    echo "apt-get $*: $(tail -n 1 "$apt_folder/last.log")"
    return 1
  }
}

# Prints nothing when all went well. The upstream source, unpacked as $cache/PACKAGE.
fetch_source() { # fetch_source PACKAGE [TAR-PATTERN]
  local archive
  [ ! -e "$cache/$1/.unpacked" ] || return 0
  (mkdir -p "$apt_folder/sources/$1" && cd "$apt_folder/sources/$1" 2> /dev/null || exit 1
    campaign_apt --tar-only --download-only source "$1") || return 1
  archive=$(ls "$apt_folder/sources/$1"/*.orig.tar.* | grep -v '\.asc$' | head -n 1)
  mkdir -p "$cache/$1"
  tar -xf "$archive" -C "$cache/$1" --strip-components=1 --wildcards "${2:-*}" && touch "$cache/$1/.unpacked"
}

# The packages and what they need and the machine lacks, unpacked in $cache/root; not configured, so not everything runs.
fetch_binary() { # fetch_binary PACKAGE...
  local stamp=$apt_folder/archives/.$1 package
  [ ! -e "$stamp" ] || return 0
  campaign_apt --no-install-recommends --download-only install "$@" || return 1
  mkdir -p "$cache/root"
  for package in "$apt_folder"/archives/*.deb; do
    [ -e "$package.unpacked" ] || { dpkg -x "$package" "$cache/root" && touch "$package.unpacked"; } || return 1
  done
  touch "$stamp"
}

# A program of one file; what the compiler says is in PROGRAM.out. One that cannot be made is left out.
compile_one() { # compile_one MPI SOURCE PROGRAM OPTION...
  local compiler=mpicc lenient=-w
  [ ! -x "$3" ] || return 0
  case $2 in
    *.cc | *.cpp | *.cxx) compiler=mpicxx ;;
    *.f | *.F | *.f90 | *.F90) compiler=mpif90 lenient='-w -fallow-argument-mismatch' ;;
  esac
  # shellcheck disable=SC2086 # options
  "$compiler.$1" $lenient -g -o "$3" "$2" "${@:4}" > "$3.out" 2>&1
}
