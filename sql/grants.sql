-- SPDX-License-Identifier: BSL-1.0
-- The rights of dlock's users on MariaDB and MySQL. Put in your names first, for example
--
--   sed -e 's/@LOCKS@/locks/g; s/@HOST@/%/g; s/@OWNER@/dlock_owner/g; s/@APP@/dlock_app/g' \
--       -e 's/@OWNER_PASSWORD@/.../g; s/@APP_PASSWORD@/.../g' grants.sql | mariadb
--
-- @LOCKS@ is the database of the lock tables, which must be there. @OWNER@ makes and migrates the tables (schema=create);
-- it is not needed where a DBA does that with schema-mysql.sql. @APP@ only locks. @HOST@ is where they come from, '%' for
-- everywhere. docs/operations.md explains what each right is for.

CREATE USER IF NOT EXISTS '@OWNER@'@'@HOST@' IDENTIFIED BY '@OWNER_PASSWORD@';
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, REFERENCES, DROP ON `@LOCKS@`.* TO '@OWNER@'@'@HOST@';

CREATE USER IF NOT EXISTS '@APP@'@'@HOST@' IDENTIFIED BY '@APP_PASSWORD@';
GRANT SELECT, INSERT, UPDATE, DELETE ON `@LOCKS@`.* TO '@APP@'@'@HOST@';

-- Instead of the last line, where the lock tables are there already and share their database with others:
-- GRANT SELECT, INSERT, UPDATE, DELETE ON `@LOCKS@`.`dlock_lock` TO '@APP@'@'@HOST@';
-- GRANT SELECT, INSERT, UPDATE, DELETE ON `@LOCKS@`.`dlock_session` TO '@APP@'@'@HOST@';
-- GRANT SELECT, UPDATE ON `@LOCKS@`.`dlock_floor` TO '@APP@'@'@HOST@';
-- GRANT SELECT, INSERT, UPDATE, DELETE ON `@LOCKS@`.`dlock_waiter` TO '@APP@'@'@HOST@';
-- GRANT SELECT, INSERT, UPDATE, DELETE ON `@LOCKS@`.`dlock_done` TO '@APP@'@'@HOST@';
-- GRANT SELECT, INSERT, UPDATE, DELETE ON `@LOCKS@`.`dlock_member` TO '@APP@'@'@HOST@';
-- GRANT SELECT ON `@LOCKS@`.`dlock_schema_version` TO '@APP@'@'@HOST@';

-- Optional, for verify() and for rows locked in place. @DATA_USER@ is the user of the application's own connections,
-- which verifies and releases in the application's transactions; @DATA@ is the database of its tables. Narrower: UPDATE
-- of the columns session_id, expires_at_us, verified_by and verifies of the table dlock_lock alone.
-- GRANT SELECT, UPDATE ON `@LOCKS@`.* TO '@DATA_USER@'@'@HOST@';
-- For once() in such a transaction also:
--   GRANT INSERT ON `@LOCKS@`.`dlock_done` TO '@DATA_USER@'@'@HOST@';
-- GRANT SELECT, UPDATE ON `@DATA@`.* TO '@APP@'@'@HOST@';
