# SPDX-License-Identifier: BSL-1.0
"""A recipe for Conan 2, which builds the sources that it lies in: conan create packaging/conan

It has no ZooKeeper and no ODB, of which ConanCenter has no recipes, and not yet the SQL stores."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Dlock(ConanFile):
    name = "dlock"
    version = "0.1.0"
    description = "Distributed locks on MySQL, MariaDB, SQLite, Redis and ZooKeeper"
    license = "BSL-1.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "redis": [True, False], "spdlog": [True, False], "prometheus": [True, False]}
    default_options = {"shared": False, "redis": True, "spdlog": False, "prometheus": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for folder in ("cmake", "codegen", "include", "monitoring", "odb", "packaging", "sql", "src"):
            copy(self, os.path.join(folder, "*"), root, self.export_sources_folder)
        for file in ("CMakeLists.txt", "LICENSE"):
            copy(self, file, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("fmt/[>=9.1 <12]", transitive_headers=True)
        self.requires("boost/[>=1.75]", transitive_headers=True, options={"header_only": True})
        if self.options.redis:
            self.requires("hiredis/[>=1.0]")
            self.requires("openssl/[>=3 <4]")
        if self.options.spdlog:
            self.requires("spdlog/[>=1.10]", transitive_headers=True)
        if self.options.prometheus:
            self.requires("prometheus-cpp/[>=1.0]", transitive_headers=True)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("redis", "spdlog", "prometheus"):
            toolchain.variables["DLOCK_" + part.upper()] = bool(self.options.get_safe(part))
        for part in ("MYSQL", "SQLITE", "ODB", "ZOOKEEPER", "GEN", "BUILD_TESTS", "BUILD_SAMPLES", "BUILD_TOOLS", "BUILD_BENCH"):
            toolchain.variables["DLOCK_" + part] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # dlock brings its own files
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "dlock")]
