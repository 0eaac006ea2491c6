-- guard stands in front of every script made by Guarded.
--
-- KEYS[1]  the key that must be there: the epoch, or the lock of a rebuild
-- ARGV[1]  the value that it must have; empty: any
--
-- Returns {LOST} where it is not so; else the script goes on.
local guard = redis.call("GET", KEYS[1])
if not guard or (ARGV[1] ~= "" and guard ~= ARGV[1]) then
	return {LOST}
end

