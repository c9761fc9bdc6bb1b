# SPDX-License-Identifier: BSD-3-Clause
#
# Not yet run by Spack. The names of its dependencies are those of Spack's package repository; of the versions, those of
# cli11, nlohmann-json, xxhash and ucx were looked up there.
#
# The tarball is what `make dist` makes. In its folder:
#
#   spack repo add SOURCE/contrib/packages/spack
#   spack install --no-checksum ucx-verity

import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class UcxVerity(AutotoolsPackage):
    """End-to-end verification of messages for MPI and UCX: a transport plugin that hashes every message,
    retransmits damaged segments, and reports which adapter, link or host explains the faults."""

    manual_download = True

    license("BSD-3-Clause")

    version("0.1.0")

    variant("mpi", default=True, description="Checks of datatypes, and libraries, for programs of this MPI")
    variant("automap", default=False, description="verity-types automap, for types from C and C++ headers")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("xxhash@0.8.1:", type="build")

    # The plugin works with the one release of UCX that it was built for: the one in its hash.
    depends_on("ucx@1.13:1.23", type=("build", "link", "run"))
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", when="+automap")
    # Call sites by file and line, loaded at run time.
    depends_on("elfutils", when="+mpi", type=("build", "run"))

    conflicts("platform=darwin", msg="The plugin is for Linux")
    conflicts("%gcc@:9", msg="C++20 is needed")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/ucx-verity-{version}.tar.xz"

    def configure_args(self):
        args = [
            f"--with-ucx={self.spec['ucx'].prefix}",
            "--without-gtest",
            "--localstatedir=/var",
        ]
        if self.spec.satisfies("+mpi"):
            args += ["--with-mpi", f"MPICC={self.spec['mpi'].mpicc}"]
        else:
            args.append("--without-mpi")
        if self.spec.satisfies("+automap"):
            args.append(f"--with-libclang={self.spec['llvm'].prefix}")
        else:
            args.append("--without-libclang")
        return args
