// SPDX-License-Identifier: BSL-1.0

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Runs annotated methods under a lock of this process, as a proxy does that a framework puts around an object. */
final class LockAspect {
  static final Map<String, String> held = new ConcurrentHashMap<>();

  static <T> T around(Class<T> type, T target) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> call(target, method, args)));
  }

  private static Object call(Object target, Method method, Object[] args) throws Throwable {
    final Locked how = method.getAnnotation(Locked.class);
    if (how == null) return invoke(target, method, args);
    final String key = keyOf(how, method, args);
    if (held.putIfAbsent(key, "ours") != null) {
      if (how.skipWhenBusy()) return null;
      throw new IllegalStateException("busy");
    }
    try {
      return invoke(target, method, args);
    } finally {
      held.remove(key);
    }
  }

  private static Object invoke(Object target, Method method, Object[] args) throws Throwable {
    try {
      return method.invoke(target, args);
    } catch (InvocationTargetException failed) {
      throw failed.getCause();
    }
  }

  private static String keyOf(Locked how, Method method, Object[] args) throws ReflectiveOperationException {
    final StringBuilder key = new StringBuilder(how.keyPrefix());
    for (String expression : how.keys()) key.append(':').append(valueOf(expression, method, args));
    return key.toString();
  }

  /** "#order.id": an argument by its name, and getters of it. */
  private static Object valueOf(String expression, Method method, Object[] args) throws ReflectiveOperationException {
    final String[] path = expression.substring(1).split("\\.");
    final Parameter[] parameters = method.getParameters();
    for (int i = 0; i < parameters.length; ++i) {
      if (!parameters[i].getName().equals(path[0])) continue;
      Object value = args[i];
      for (int step = 1; step < path.length; ++step) {
        final Method getter = value.getClass().getDeclaredMethod(path[step]);
        getter.setAccessible(true);
        value = getter.invoke(value);
      }
      return value;
    }
    throw new IllegalArgumentException(expression);
  }
}
