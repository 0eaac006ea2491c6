-- raise sets a position that is a number, unless it is that or a higher one.
--
-- KEYS[2]  positions: name → position
-- ARGV[2]  name
-- ARGV[3]  number (below 2^53)
-- Returns: DONE.
if tonumber(ARGV[3]) > tonumber(redis.call("HGET", KEYS[2], ARGV[2]) or "0") then
	redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
end
return {DONE}
