-- set writes one suspension.
--
-- KEYS[2]  suspended policies, or suspended bindings
-- ARGV[2]  id of the policy or binding
-- ARGV[3]  version of the object that says so (below 2^53); 0: none
-- ARGV[4]  suspension; empty: not suspended
--
-- Returns {DONE}, or {SAME} where it is that suspension already, or where the known
-- one is of a newer version. A version outlives its suspension, so that an older one
-- that comes late does not bring it back.
local id, version, suspension = ARGV[2], tonumber(ARGV[3]), ARGV[4]
local known = redis.call("HGET", KEYS[2], id)
local at, before = 0, ""
if known then
	local v, f = string.match(known, "^(%d+)\n(.*)$")
	at, before = tonumber(v), f
end
if version ~= 0 and version < at then
	return {SAME}
end
if suspension == before and (version == at or version == 0) then
	return {SAME}
end
if version == 0 and at == 0 and suspension == "" then
	redis.call("HDEL", KEYS[2], id)
else
	redis.call("HSET", KEYS[2], id, string.format("%d", math.max(version, at)) .. "\n" .. suspension)
end
return {DONE}
