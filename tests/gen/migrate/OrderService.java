// SPDX-License-Identifier: BSL-1.0

record Order(long id) {}

record User(String name) {}

record Receipt(long number) {}

// [java]
interface OrderService {
  @Locked(keyPrefix = "order", keys = {"#order.id", "#buyer.name"}, expireTime = 30_000, waitTime = 2_000)
  Receipt place(Order order, User buyer);

  @Locked(keyPrefix = "order", keys = "#id", waitTime = 0, skipWhenBusy = true)
  void expire(long id);
}
// [/java]
