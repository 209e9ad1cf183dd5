// SPDX-License-Identifier: BSL-1.0
// clang-format off
#include <dlock/annotations.hpp>

#include <optional>

struct DLOCK_ON_BUSY(skip) busy {
  virtual ~busy() = default;
  DLOCK_LOCKED("a") virtual int by_class(int n);
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(skip) virtual int* skipped(int n);
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(skip) virtual std::optional<int> right(int n);
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(skip) DLOCK_ON_BUSY(throw) virtual void twice();
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(ignore) virtual void unknown();
  DLOCK_LOCKED("a") DLOCK_ON_BUSY() virtual void empty();
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(call, otherwize) virtual int misspelled(int n) const;
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(call, otherwise) virtual int misfit(int n) const;
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(call, changes) virtual int constant(int n) const;
  int changes(int n);
  DLOCK_LOCKED("a") DLOCK_ON_BUSY(call, itself) virtual int itself(int n) const;
  int otherwise(long n) const;
  static long otherwise(int n);

 private:
  int hidden(int n) const;
};
struct DLOCK_ON_BUSY(call, hidden) hides {
  DLOCK_LOCKED("a") int function(int n) const;

 private:
  int hidden(int n) const;
};
DLOCK_LOCKED("a") DLOCK_ON_BUSY(call, free_otherwise) int free_function(int n);
int free_otherwise(int n, int more);
