// SPDX-License-Identifier: BSL-1.0
#include "clang/compile_flags.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using dlock_gen::useful_flags;
using list = std::vector<std::string>;

TEST_CASE("gen flags: what says what a source means is kept, the rest is not") {
  CHECK(useful_flags({"-std=gnu++23",
                      "-Wall",
                      "-Werror",
                      "-O2",
                      "-g",
                      "-DA=1",
                      "-D",
                      "B",
                      "-UC",
                      "-I",
                      "inc",
                      "-isystem",
                      "/sys",
                      "-fno-exceptions",
                      "-fdiagnostics-color=always",
                      "-o",
                      "x.o",
                      "-c",
                      "x.cpp",
                      "-MD",
                      "-MF",
                      "x.d",
                      "-include",
                      "/b/cmake_pch.hxx",
                      "-include",
                      "always.hpp",
                      "-Winvalid-pch",
                      "-march=native"},
                     "/src") == list{"-std=gnu++23", "-DA=1", "-DB", "-UC", "-I/src/inc", "-isystem", "/sys",
                                     "-fno-exceptions", "-include", "/src/always.hpp", "-march=native"});
}

TEST_CASE("gen flags: the standard is C++20 unless another one is given") {
  CHECK(useful_flags({}, "/") == list{"-std=c++20"});
  CHECK(useful_flags({"-std=c++2b"}, "/") == list{"-std=c++2b"});
  CHECK(useful_flags({"--std=c++23"}, "/") == list{"--std=c++23"});
}

TEST_CASE("gen flags: an option whose value is missing ends nothing but itself") {
  CHECK(useful_flags({"-std=c++20", "-I"}, "/w").size() == 2);
  CHECK(useful_flags({"-std=c++20", "-o"}, "/w").size() == 1);
  CHECK(useful_flags({"-std=c++20", "-include"}, "/w").size() == 1);
}
