-- known tells in which version a policy was indexed, or its suspension set, at the
-- newest.
--
-- KEYS[2]  policies   KEYS[3]  suspended policies
-- ARGV[2]  policy id
--
-- Returns {DONE, epoch, version}; version 0: never.
local indexed = string.match(redis.call("HGET", KEYS[2], ARGV[2]) or "", "^(%d+) ") or "0"
local suspended = string.match(redis.call("HGET", KEYS[3], ARGV[2]) or "", "^(%d+)\n") or "0"
if tonumber(suspended) > tonumber(indexed) then
	return {DONE, guard, suspended}
end
return {DONE, guard, indexed}
