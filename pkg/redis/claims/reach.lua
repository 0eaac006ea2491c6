-- reach notes the progress of the rebuild whose lock is the guard.
--
-- KEYS[2]  progress
-- ARGV[2]  part   ARGV[3]  where that goes on; empty: nowhere
-- ARGV[4]  milliseconds until all of it is forgotten
--
-- Returns {DONE}.
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
redis.call("PEXPIRE", KEYS[2], ARGV[4])
return {DONE}
