// SPDX-License-Identifier: BSL-1.0

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.RetryNTimes;

/**
 * Locks by Apache Curator, as programs in Java do:
 *   CuratorNeighbour SERVER PATH LOG loop MODE   again and again; each time a line "B curator PID MODE" and then a line
 *                                                "E curator PID MODE"
 *   CuratorNeighbour SERVER PATH LOG once MODE   once, and until a byte comes on standard input
 * MODE: lock (InterProcessMutex), read or write (InterProcessReadWriteLock), permit (one of two, InterProcessSemaphoreV2)
 */
public final class CuratorNeighbour {
  public static void main(String[] words) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(words[0], 6000, 30000, new RetryNTimes(30, 500));
    client.start();
    Path log = Path.of(words[2]);
    boolean once = words[3].equals("once");
    Entry entry = entry(client, words[1], words[4]);
    String who = "curator " + ProcessHandle.current().pid() + " " + words[4];
    do {
      AutoCloseable held;
      try {
        held = entry.enter();
      } catch (Exception e) {
        write(log, "error curator " + e);
        continue;
      }
      write(log, "B " + who);
      if (once) {
        System.in.read();
      } else {
        Thread.sleep(1);
      }
      write(log, "E " + who);
      held.close();
    } while (!once);
    client.close();
  }

  private interface Entry {
    AutoCloseable enter() throws Exception;
  }

  private static Entry entry(CuratorFramework client, String path, String mode) {
    if (mode.equals("permit")) {
      InterProcessSemaphoreV2 permits = new InterProcessSemaphoreV2(client, path, 2);
      return permits::acquire;
    }
    InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
    InterProcessMutex mutex = mode.equals("read") ? both.readLock()
        : mode.equals("write") ? both.writeLock()
        : new InterProcessMutex(client, path);
    return () -> {
      mutex.acquire();
      return mutex::release;
    };
  }

  private static void write(Path log, String line) throws Exception {
    Files.write(log, (line + "\n").getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }
}
