-- count tells how many templates are in a range of held.
--
-- KEYS[2]  held
-- ARGV[2]  first bound   ARGV[3]  last bound
--
-- Returns {DONE, number}.
return {DONE, tostring(redis.call("ZLEXCOUNT", KEYS[2], ARGV[2], ARGV[3]))}
