// SPDX-License-Identifier: BSL-1.0
// A program that includes nothing of dlock and links the store that its first argument names.
int take_lock(const char* url);

int main(int argc, char** argv) { return take_lock(argc > 1 ? argv[1] : "memory:"); }
