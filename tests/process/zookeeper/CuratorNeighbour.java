// SPDX-License-Identifier: BSL-1.0

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/**
 * Locks by Apache Curator's InterProcessMutex, as programs in Java do:
 *   CuratorNeighbour SERVER PATH LOG loop   again and again; each time a line "B pid" and then a line "E pid"
 *   CuratorNeighbour SERVER PATH LOG once   once, and until a byte comes on standard input
 */
public final class CuratorNeighbour {
  public static void main(String[] words) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(words[0], 6000, 30000, new RetryNTimes(30, 500));
    client.start();
    InterProcessMutex mutex = new InterProcessMutex(client, words[1]);
    Path log = Path.of(words[2]);
    boolean once = words[3].equals("once");
    long pid = ProcessHandle.current().pid();
    do {
      try {
        mutex.acquire();
      } catch (Exception e) {
        write(log, "error curator " + e);
        continue;
      }
      write(log, "B curator " + pid);
      if (once) {
        System.in.read();
      } else {
        Thread.sleep(1);
      }
      write(log, "E curator " + pid);
      mutex.release();
    } while (!once);
    client.close();
  }

  private static void write(Path log, String line) throws Exception {
    Files.write(log, (line + "\n").getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }
}
