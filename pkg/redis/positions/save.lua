-- KEYS[2]  positions: name → position
-- ARGV[2]  name
-- ARGV[3]  position
-- Returns: DONE.
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
return {DONE}
