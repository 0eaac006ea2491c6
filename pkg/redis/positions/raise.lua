-- raise sets a position that is a number, unless it is that or a higher one.
--
-- KEYS[2]  raised
-- ARGV[2]  name
-- ARGV[3]  number (below 2^53)
-- Returns: DONE.
redis.call("ZADD", KEYS[2], "GT", ARGV[3], ARGV[2])
return {DONE}
