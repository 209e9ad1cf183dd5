// SPDX-License-Identifier: BSL-1.0

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Random;
import java.util.UUID;

/**
 * A program that locks in t_lock by the published protocol: read the row, then compare-and-set by version, each
 * statement by itself. It knows nothing of dlock. Arguments: JDBC URL, user, password, lock table, table of the witness,
 * and ids of requests that it serves with others. It works until it is killed, and says each visit to the witness.
 */
public final class Neighbour {
  private static final int LEASE_MS = 1500;
  private static final int WAIT_MS = 2000;
  private static final int WORK_MS = 40;
  private static final String NOW = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

  private final Connection connection;
  private final String table;
  private final String witness;
  private final List<String> shared;
  private final Random random = new Random();
  private String me = "";

  private record Row(String requestId, int count, long timeout, int version) {}

  private Neighbour(String[] args) throws SQLException {
    connection = DriverManager.getConnection(args[0], args[1], args[2]);
    table = args[3];
    witness = args[4];
    shared = List.of(args).subList(5, args.length);
  }

  private int change(String sql, Object... values) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; ++i) statement.setObject(i + 1, values[i]);
      return statement.executeUpdate();
    }
  }

  private Row read(String key) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("select * from " + table + " t WHERE t.lock_key=?")) {
      statement.setString(1, key);
      try (ResultSet found = statement.executeQuery()) {
        if (!found.next()) return null;
        return new Row(found.getString("request_id"), found.getInt("lock_count"), found.getLong("timeout"),
            found.getInt("version"));
      }
    }
  }

  /** Compare-and-set: whether the row was as it was read. */
  private boolean set(String key, Row seen, String requestId, int count, long timeout) throws SQLException {
    return change("UPDATE " + table
        + " SET request_id = ?,lock_count = ?,timeout = ?,version = version + 1 WHERE lock_key = ? AND  version = ?",
        requestId, count, timeout, key, seen.version()) == 1;
  }

  private boolean lock(String key) throws SQLException, InterruptedException {
    final long begun = System.currentTimeMillis();
    for (;;) {
      final Row row = read(key);
      if (row == null) {
        change("insert into " + table
            + " (lock_key, request_id, lock_count, timeout, version) VALUES (?,?,?,?,?)", key, "", 0, 0L, 0);
        continue;
      }
      final long until = System.currentTimeMillis() + LEASE_MS;
      if (row.requestId().isEmpty()) {
        if (set(key, row, me, 1, until)) return true;
      } else if (row.requestId().equals(me)) {
        if (set(key, row, me, row.count() + 1, until)) return true;
      } else if (row.timeout() < System.currentTimeMillis()) {
        set(key, row, "", 0, 0L);
      } else if (begun + WAIT_MS > System.currentTimeMillis()) {
        Thread.sleep(100);
      } else {
        return false;
      }
    }
  }

  private void unlock(String key) throws SQLException {
    final Row row = read(key);
    if (row == null || !row.requestId().equals(me) || row.count() <= 0) return;
    if (row.count() == 1) {
      set(key, row, "", 0, 0L);
    } else {
      set(key, row, me, row.count() - 1, row.timeout());
    }
  }

  /** One hold, with a nested one now and then. The witness must find nobody inside but the same request. */
  private void visit(String key) throws SQLException, InterruptedException {
    me = random.nextBoolean() ? UUID.randomUUID().toString() : shared.get(random.nextInt(shared.size()));
    final long begun = System.currentTimeMillis();
    if (!lock(key)) return;
    final boolean nested = random.nextInt(4) == 0 && lock(key);
    if (System.currentTimeMillis() - begun < LEASE_MS / 2 || nested) {
      final boolean alone = change("UPDATE " + witness + " SET inside = IF(holder = ? AND until_us >= " + NOW
          + ", inside, 0) + 1, holder = ?, until_us = " + NOW + " + 300000 WHERE k = ? AND (holder IN ('', ?) OR until_us < "
          + NOW + ")", me, me, key, me) == 1;
      System.out.println(alone ? shared.contains(me) ? "visit java-shared" : "visit java" : "overlap java " + key);
      Thread.sleep(1 + random.nextInt(WORK_MS));
      change("UPDATE " + witness + " SET holder = IF(inside > 1, holder, ''), inside = inside - 1 WHERE k = ? AND holder = ?"
          + " AND inside > 0", key, me);
    }
    if (nested) unlock(key);
    unlock(key);
  }

  public static void main(String[] args) throws Exception {
    final Neighbour self = new Neighbour(args);
    System.out.println("ready");
    for (;;) {
      try {
        self.visit("k" + self.random.nextInt(2));
      } catch (SQLException e) {
        System.out.println("error " + e.getMessage().replace('\n', ' '));
      }
    }
  }
}
