#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The recipes in contrib/packages: each installed file is in one package, the plugin's depends on the UCX that it was
# built for, and the source package has no fault that lintian knows. `make dist` needs no network.
#
# VERITY_TEST_LONG=1, as root: builds the Debian packages without network, and packs RPMs of this build; a clean root folder of this
# Debian gets the former, runs the demonstration from them, and has no file of theirs after their removal. In it the
# Apptainer recipe's steps run, too, and a plugin of the machine below /opt. It compiles everything, a quarter of an hour
# on two cores without ccache (TEST_TIMEOUT=7200 on a busy machine), and needs 3 GB below TMPDIR.
# VERITY_TEST_PACKAGES=DIR: Debian packages that contrib/build-package built, in place of a build.
. "${abs_top_srcdir:?}/test/tap.sh"
[ -z "${VERITY_SANITIZERS:-}" ] || skip_all "a build with sanitizers is not what is packaged"
build=${abs_top_builddir:?}
packages=$abs_top_srcdir/contrib/packages
debian=$packages/debian
clean_make() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make "$@"; }
variable() { sed -n "s/^$1 = //p" "$build/Makefile"; }
version=$(variable PACKAGE_VERSION)

# ---- the lists of files -------------------------------------------------------------------------
install_output=$(clean_make -C "$build" install DESTDIR="$tap_dir/stage" prefix=/usr exec_prefix=/usr sysconfdir=/etc libdir=/usr/lib/ARCH \
  libexecdir=/usr/libexec bindir=/usr/bin datarootdir=/usr/share lmoddir=/usr/share/lmod/lmod/modulefiles \
  tclmoduledir=/usr/share/modules/modulefiles 2>&1)
tap_result $? "make install below a folder of its own"
[ -e "$tap_dir/stage/usr/bin/ucx-verity" ] || note "$(tail -n 20 <<< "$install_output")"
# As the recipes do: units where systemd looks for them, no .la.
(cd "$tap_dir/stage" && find . ! -type d -printf '%P\n') |
  sed -E '/\.la$/d; s|share/ucx-verity/health(/[^/]*\.(service\|timer))$|lib/systemd/system\1|' > "$tap_dir/installed"
rm -rf "$tap_dir/stage"

# partition LISTS INSTALLED: lines of LISTS are 'PACKAGE PATTERN', a pattern being that of files or folders. Prints the files that
# are not in exactly one package, and the patterns that are for nothing.
partition() {
  awk '
    NR == FNR {
      package[++count] = $1
      text[count] = $2
      pattern = $2
      gsub(/[.+]/, "\\\\&", pattern)
      gsub(/\*/, "[^/]*", pattern)
      regex[count] = "^" pattern "(/|$)"
      next
    }
    {
      owners = ""
      for (i = 1; i <= count; ++i) {
        if ($0 !~ regex[i]) continue
        used[i] = 1
        if (index(owners, " " package[i] " ") == 0) owners = owners " " package[i] " "
      }
      if (split(owners, owner, " ") != 1) print $0 ": in " (owners == "" ? "no package" : owners)
    }
    END { for (i = 1; i <= count; ++i) if (!(i in used)) print package[i] ": nothing is " text[i] }' "$1" "$2"
}
patterns=$tap_dir/patterns
for list in "$debian"/*.install; do
  sed "s|^|$(basename "$list" .install) |" "$list"
done > "$patterns"
# Without MPI or libclang less is built than what the packages have.
complete=yes
for file in libverity_mpi_openmpi.so libverity_mpi_mpich.so verity-types-automap; do
  grep -q "/$file\$" "$tap_dir/installed" || complete=no
done
if [ "$complete" = yes ]; then
  is "Debian: each installed file is in exactly one package" "$(partition "$patterns" "$tap_dir/installed")" ""
else
  skip "Debian: each installed file is in exactly one package" "built without an MPI library or libclang"
fi
printf 'a usr/x\nb usr/x/*.so\nc usr/y\n' > "$tap_dir/lists"
printf 'usr/x/1.so\nusr/x/2\nusr/z\n' > "$tap_dir/files"
is "what is in two packages or none, or not installed, is seen" "$(partition "$tap_dir/lists" "$tap_dir/files" | tr -s ' \n' ' ;')" \
  "usr/x/1.so: in a b ;usr/z: in no package;c: nothing is usr/y;"

if ! command -v rpmspec > /dev/null; then
  skip "RPM: each installed file is in exactly one package" "rpmspec is not installed (rpm)"
elif [ "$complete" = no ]; then
  skip "RPM: each installed file is in exactly one package" "built without an MPI library or libclang"
else
  parsed=$(rpmspec -P "$packages/ucx-verity.spec" 2> "$tap_dir/err") || note "$(cat "$tap_dir/err")"
  libdir=$(rpm --eval '%{_libdir}')
  awk -v docdir=/usr/share/doc '
    { sub(/^%config[^ ]* /, "") }
    /^%[a-z]/ && !/^%(license|dir|doc) / { package = $1 == "%files" ? ($2 == "-n" ? $3 : "ucx-verity") : "" }
    /^%(license|dir|doc) / || package == "" || /^(#|$)/ { next }
    { sub(/^%{_docdir}/, docdir) }
    /^\// { print package, substr($0, 2) }' <<< "$parsed" | sort -u > "$patterns"
  sed "s|^usr/lib/ARCH/|${libdir#/}/|; s|/modulefiles/ucx-verity\(.*\.lua\)|/modulefiles/Core/ucx-verity\1|; s|share/modules/|share/|" \
    "$tap_dir/installed" > "$tap_dir/installed-rpm"
  is "RPM: each installed file is in exactly one package" "$(partition "$patterns" "$tap_dir/installed-rpm")" ""
fi

# ---- what the recipes name ----------------------------------------------------------------------
is "Debian: the version is this one" "$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' "$debian/changelog")" "$version"
is "RPM: the version is this one" "$(sed -n 's/^Version: *//p' "$packages/ucx-verity.spec")" "$version"
is "Spack: the version is this one" "$(sed -n 's/^ *version("\(.*\)")/\1/p' "$packages/spack/packages/ucx_verity/package.py")" "$version"
easyconfig=$(find "$packages/easybuild" -name '*.eb')
is "EasyBuild: the version is this one" "$(sed -n "s/^version = '\(.*\)'/\1/p" "$easyconfig")" "$version"
if command -v python3 > /dev/null; then
  ok "the recipes in Python can be parsed" python3 -c 'import ast, sys
for name in sys.argv[1:]: ast.parse(open(name).read(), name)' "$easyconfig" "$packages/spack/packages/ucx_verity/package.py"
else
  skip "the recipes in Python can be parsed" "python3 is not installed"
fi
. "$abs_top_srcdir/contrib/setup.sh"
is "Debian: what the build needs is what contrib/setup.sh installs" \
  "$(sed -n '/^Build-Depends:/,/^[^ ]*:/{s/^Build-Depends://; /^[^ ]/d; p}' "$debian/control" | tr ',' '\n' | awk 'NF { print $1 }' |
    grep -vxF -e debhelper-compat -e libxxhash-dev -e "$(printf '%s\n' "${build_packages[@]}" "${interposer_packages[@]}")")" ""
release=${VERITY_UCX_VERSION%.*}
wanted="libucx0 (>= $VERITY_UCX_VERSION~), libucx0 (<< $release.$((${VERITY_UCX_VERSION##*.} + 1))~)"
contains "Debian: the plugin's package depends on the UCX release of the build" \
  "$(clean_make -s -n -C "$build" -f "$debian/rules" override_dh_gencontrol 2>&1)" "ucx:Depends=$(sed 's/[().]/\\&/g' <<< "$wanted")\""
if command -v ucx_info > /dev/null && command -v rpmspec > /dev/null && [ "$UCX_INFO" = "$(command -v ucx_info)" ]; then
  contains "RPM: and so does that one" "$parsed" "^Requires: *ucx\(.*\) = ${VERITY_UCX_VERSION//./\\.}\$"
fi

# ---- the tarball and the source package ---------------------------------------------------------
offline=()
unshare --net true 2> /dev/null && offline=(unshare --net)
tarball=$build/ucx-verity-$version.tar.xz
if [ -e "$abs_top_srcdir/.git" ]; then
  dist_output=$("${offline[@]}" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$build" dist 2>&1)
  tap_result $? "make dist${offline:+ without network}"
  [ -e "$tarball" ] || note "$(tail -n 20 <<< "$dist_output")"
fi
no_errors() { # no_errors NAME FILE: by lintian
  if ! command -v lintian > /dev/null; then
    skip "$1: lintian has no error" "lintian is not installed"
    return
  fi
  ok "$1: lintian has no error" lintian --allow-root --fail-on error "$2"
}
build_package() { # build_package deb|rpm DIR OPTION...: packages of the tarball
  "${offline[@]}" bash "$abs_top_srcdir/contrib/build-package" "$1" --into "$2" --tarball "$tarball" --no-packages "${@:3}"
}
if ! [ -e "$tarball" ]; then
  skip "the source package" "there is no tarball: this is no clone"
elif ! command -v dpkg-buildpackage > /dev/null || ! command -v dh > /dev/null; then
  skip "the source package" "dpkg-buildpackage or debhelper is not installed (dpkg-dev debhelper)"
else
  ok "the source package is built${offline:+ without network}" build_package deb "$tap_dir/source" --source
  no_errors "source package" "$tap_dir/source/ucx-verity_$version-1.dsc"
fi

[ "${VERITY_TEST_LONG:-0}" != 0 ] || done_testing

# ---- the long form: packages are built ----------------------------------------------------------
debs=$tap_dir/debs
architecture=$(dpkg --print-architecture)
if [ -n "${VERITY_TEST_PACKAGES:-}" ]; then
  mkdir "$debs"
  cp "$VERITY_TEST_PACKAGES"/*_"$version"-1_"$architecture".deb "$debs"
else
  ok "the Debian packages are built${offline:+ without network}" env DEB_BUILD_OPTIONS=noautodbgsym bash -c \
    "$(declare -p offline abs_top_srcdir tarball); $(declare -f build_package); build_package deb $debs"
  no_errors "packages" "$debs/ucx-verity_$version-1_$architecture.changes"
fi
is "four packages" "$(cd "$debs" && ls ./*.deb | sed 's|^./||; s/_.*//' | sort | paste -s -d ' ')" "libverity-dev libverity0 ucx-verity verity-types"
contains "the plugin's depends on the UCX release that it was built for" \
  "$(dpkg-deb -f "$debs"/ucx-verity_*.deb Depends)" "$(sed 's/[().]/\\&/g; s/~/~?/' <<< "$wanted")"

# ---- in a clean root folder ---------------------------------------------------------------------
in_root=$abs_top_srcdir/test/matrix/in-root
root=$tap_dir/root
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap > /dev/null || [ ${#offline[@]} -eq 0 ]; then
  skip "the packages in a clean root folder" "needs root, debootstrap and namespaces"
  done_testing
fi
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
if ! unshare --mount --pid --fork --kill-child debootstrap --variant=minbase "$suite" "$root" "$(debian_mirror)" > "$tap_dir/debootstrap.log" 2>&1; then
  note "$(tail -n 3 "$tap_dir/debootstrap.log")"
  skip "the packages in a clean root folder" "debootstrap fetched no $suite"
  done_testing
fi
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" # services do not start
chmod +x "$root/usr/sbin/policy-rc.d"
mkdir "$root/debs" "$root/source" # folders of the machine are seen there
options=()
inside() { # inside [--bind FOLDER:INSIDE] COMMAND...
  local binds=()
  [ "$1" != --bind ] || { binds=("$1" "$2"); shift 2; }
  bash "$in_root" --bind "$debs:/debs" "${options[@]}" "${binds[@]}" "$root" env DEBIAN_FRONTEND=noninteractive "$@"
}
files() { inside find / -xdev -not -path '/var/cache/*' -not -path '/var/log/*' -not -path '/var/lib/apt/*' -printf '%p %l\n' | sort; }
# What they depend on, and what the demonstration needs, is there before: it stays.
dependencies=$(for deb in "$debs"/*.deb; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' | awk '{ print $1 }' | grep -vE '^(lib)?verity|^$' | sort -u)
# shellcheck disable=SC2086 # words
ok "what they need is installed" inside sh -c 'apt-get -q update && apt-get -q -y --no-install-recommends install "$@"' sh \
  $dependencies gcc libc6-dev libopenmpi-dev openmpi-bin pkg-config man-db
files > "$tap_dir/before"
# shellcheck disable=SC2016 # expanded inside
ok "the packages are installed" inside sh -c 'apt-get -q -y --no-install-recommends install /debs/*.deb'
files > "$tap_dir/with"
ok "they bring their files" test "$(comm -13 "$tap_dir/before" "$tap_dir/with" | wc -l)" -ge "$(wc -l < "$tap_dir/installed")"
# shellcheck disable=SC2016 # expanded inside
contains "the command finds the plugin" "$(inside sh -c 'eval "$(ucx-verity env)" && ucx-verity doctor' 2>&1 | tr -s ' \n' ' ')" \
  ' ok plugin /usr/lib/[^ ]*/libuct_verity.so.0'
demonstrated() { # demonstrated NAME COMMAND...: on tcp and on posix
  inside "${@:2}" > "$tap_dir/demonstration" 2>&1
  tap_result $? "$1"
  is "$1: no wrong byte on two transports, and stock UCX has some" \
    "$(grep -cE ' [1-9][0-9]* bytes wrong$' "$tap_dir/demonstration") $(grep -c ' 0 bytes wrong$' "$tap_dir/demonstration")" "2 2"
}
demonstrated "the demonstration runs from the packages" /usr/share/doc/ucx-verity/examples/quickstart-demo /usr
ok "a program builds with a library" inside --bind "$abs_top_srcdir:/source" sh -c 'cd /source && contrib/packages/debian/tests/libraries'
contains "the manual is found" "$(inside man -w 7 ucx-verity)" '^/usr/share/man/man7/ucx-verity.7.gz'
# The folder is made by its unit.
ok "the exporter keeps its ledger" inside sh -c 'mkdir /var/lib/ucx-verity && ucx-verity export --textfile /tmp/ucx_verity.prom && test -s /var/lib/ucx-verity/ledger.json'
ok "the packages are purged" inside apt-get -q -y purge ucx-verity verity-types libverity0 libverity-dev
files > "$tap_dir/after"
is "no file of theirs stays" "$(diff "$tap_dir/before" "$tap_dir/after")" ""

# ---- containers ---------------------------------------------------------------------------------
section() { awk -v name="%$1" '/^%/ { wanted = $1 == name; next } wanted' "$packages/ucx-verity.def"; }
mkdir "$root/packages"
cp "$debs"/*.deb "$root/packages"
options=(--throw-away)
inside sh -c "set -e
$(section post)
$(section environment)
$(section test)" > "$tap_dir/container" 2>&1
tap_result $? "Apptainer: its steps, in the root folder: installed, environment, test"
contains "Apptainer: the recipe's own test finds faults repaired" "$(tr -s ' \n' ' ' < "$tap_dir/container")" 'wrong bytes delivered: 0'
[ "$tap_failed" -eq 0 ] || note "$(tail -n 20 "$tap_dir/container")"
rm -r "$root/packages"

# A plugin of the machine, in a container that has UCX and MPI alone.
ok "an installation of the machine" clean_make -C "$build" install prefix="$tap_dir/opt" exec_prefix="$tap_dir/opt" \
  libdir="$tap_dir/opt/lib" libexecdir="$tap_dir/opt/libexec" bindir="$tap_dir/opt/bin" datarootdir="$tap_dir/opt/share"
options=(--throw-away --bind "$tap_dir/opt:/opt/ucx-verity" --bind "$abs_top_srcdir:/source")
demonstrated "it works in the container" /source/contrib/quickstart-demo /opt/ucx-verity
options=()

# ---- RPM ----------------------------------------------------------------------------------------
if ! command -v rpmbuild > /dev/null || [ "$complete" = no ]; then
  skip "the RPM" "rpmbuild is not installed (rpm), or this is built without an MPI library or libclang"
  done_testing
fi
# What this build installs is packed, without a build of rpmbuild's own.
mkdir -p "$tap_dir/rpmbuild/BUILD/ucx-verity-$version"
cp "$abs_top_srcdir/LICENSE" "$tap_dir/rpmbuild/BUILD/ucx-verity-$version"
rpm_build() { # rpm_build -bi|-bb
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS rpmbuild "$1" --short-circuit --nodeps --define "_topdir $tap_dir/rpmbuild" \
    --define "_tmppath $tap_dir" --define "make_install make -C $build install DESTDIR=%{buildroot} prefix=/usr exec_prefix=/usr \
      sysconfdir=/etc libdir=%{_libdir} libexecdir=%{_libexecdir} bindir=%{_bindir} datarootdir=/usr/share" "$packages/ucx-verity.spec"
}
ok "RPM: its files are those that are installed" rpm_build -bi
ok "RPM: it is packed" rpm_build -bb
rpms=$tap_dir/rpmbuild/RPMS/$(uname -m)
in_db() { rpm --root "$root" --dbpath /var/lib/rpm --nodeps --force-debian "$@"; }
contains "it requires the UCX release that it was built for" "$(rpm -qp --requires "$rpms/ucx-verity-$version-1.$(uname -m).rpm")" \
  "^ucx(.*) = ${VERITY_UCX_VERSION//./\\.}\$"
# Folders like /usr/lib64/pkgconfig are other packages' on RPM's distributions.
rpm_files() { inside find / -xdev \( -not -type d -o -name '*verity*' \) -not -path '/var/lib/rpm/*' -not -path '/var/log/*' | sort; }
rpm_files > "$tap_dir/before"
ok "RPM: it is installed" in_db --install "$rpms"/*.rpm
mkdir -p "$root/var/lib/ucx-verity"
touch "$root/var/lib/ucx-verity/ledger.json"
ok "RPM: its command runs" inside ucx-verity --version
ok "RPM: it is erased" in_db --erase ucx-verity verity-types libverity libverity-devel
rpm_files > "$tap_dir/after"
is "RPM: no file of it stays" "$(diff "$tap_dir/before" "$tap_dir/after")" ""
done_testing
