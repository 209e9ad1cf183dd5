// SPDX-License-Identifier: BSL-1.0

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** An annotation as the well-known ones are: a prefix, expressions on the arguments, times in milliseconds. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@interface Locked {
  String keyPrefix() default "";

  String[] keys() default {};

  long expireTime() default 30_000;

  long waitTime() default 10_000;

  boolean skipWhenBusy() default false;
}
