-- extend keeps the lock of a rebuild, which is the guard, for a while longer.
--
-- ARGV[2]  milliseconds from now until it expires; 0 gives it back
--
-- Returns {DONE}.
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return {DONE}
