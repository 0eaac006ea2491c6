-- known tells in which version a policy was indexed, or its suspension set, at the
-- newest.
--
-- KEYS[2]  policies   KEYS[3]  suspended policies
-- ARGV[2]  policy id
--
-- Returns {DONE, epoch, version, digest}; version 0: never; digest of its permanent id and
-- all of its selectors, as they were indexed; empty: never.
local indexed, digest = string.match(redis.call("HGET", KEYS[2], ARGV[2]) or "", "^(%d+) %d+ (%S+)$")
indexed, digest = indexed or "0", digest or ""
local suspended = string.match(redis.call("HGET", KEYS[3], ARGV[2]) or "", "^(%d+)\n") or "0"
if tonumber(suspended) > tonumber(indexed) then
	return {DONE, guard, suspended, digest}
end
return {DONE, guard, indexed, digest}
