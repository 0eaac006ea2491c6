-- remove takes a policy out of the index. What it holds stays listed as held.
--
-- KEYS[2]  revision   KEYS[3]  policies   KEYS[4]  selectors   KEYS[5]  index
-- KEYS[6]  indexed
-- ARGV[2]  policy id
--
-- Returns {DONE}, or {SAME} where the index does not know the policy.
local policy = ARGV[2]
if redis.call("HDEL", KEYS[3], policy) == 0 then
	return {SAME}
end
for entry in string.gmatch(redis.call("HGET", KEYS[4], policy) or "", "[^\n]+") do
	redis.call("ZREM", KEYS[5], entry .. "\n" .. policy)
end
redis.call("HDEL", KEYS[4], policy)
redis.call("INCR", KEYS[2])
redis.call("SET", KEYS[6], redis.call("GET", KEYS[2]))
return {DONE}
