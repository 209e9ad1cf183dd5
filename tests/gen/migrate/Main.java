// SPDX-License-Identifier: BSL-1.0

/** Prints what migrate_main.cpp prints. */
public final class Main {
  static final class Shop implements OrderService {
    @Override
    public Receipt place(Order order, User buyer) {
      System.out.println("place holds " + String.join(" ", LockAspect.held.keySet()));
      return new Receipt(order.id() + 1);
    }

    @Override
    public void expire(long id) {
      System.out.println("expire holds " + String.join(" ", LockAspect.held.keySet()));
    }
  }

  public static void main(String[] ignored) {
    final OrderService orders = LockAspect.around(OrderService.class, new Shop());
    System.out.println("receipt " + orders.place(new Order(42), new User("ann")).number());
    orders.expire(7);
    LockAspect.held.put("order:42:ann", "another process");
    try {
      orders.place(new Order(42), new User("ann"));
    } catch (IllegalStateException busy) {
      System.out.println("place is busy");
    }
    LockAspect.held.remove("order:42:ann");
    LockAspect.held.put("order:7", "another process");
    orders.expire(7);
    LockAspect.held.remove("order:7");
    System.out.println("held at the end: " + LockAspect.held.size());
  }
}
