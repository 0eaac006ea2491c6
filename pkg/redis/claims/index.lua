-- index makes the index say what a policy selects.
--
-- KEYS[2]  revision   KEYS[3]  policies   KEYS[4]  selectors   KEYS[5]  index
-- KEYS[6]  indexed
-- ARGV[2]  policy id
-- ARGV[3]  version at which the policy was read (below 2^53)
-- ARGV[4]  digest of its permanent id and all of its selectors
-- ARGV[5…] its entries
--
-- Returns {DONE, since} where the index changed, so that since is the version,
-- or {SAME, since} where it says so already or knows a newer version.
local policy, version, digest = ARGV[2], ARGV[3], ARGV[4]
local known = redis.call("HGET", KEYS[3], policy)
if known then
	local at, since, before = string.match(known, "^(%d+) (%d+) (%S+)$")
	if tonumber(version) < tonumber(at) then
		return {SAME, since}
	end
	if digest == before then
		if version ~= at then
			redis.call("HSET", KEYS[3], policy, version .. " " .. since .. " " .. digest)
		end
		return {SAME, since}
	end
	for entry in string.gmatch(redis.call("HGET", KEYS[4], policy) or "", "[^\n]+") do
		redis.call("ZREM", KEYS[5], entry .. "\n" .. policy)
	end
end

local entries = {}
for i = 5, #ARGV do
	entries[#entries + 1] = ARGV[i]
	redis.call("ZADD", KEYS[5], 0, ARGV[i] .. "\n" .. policy)
end
redis.call("HSET", KEYS[4], policy, table.concat(entries, "\n"))
redis.call("HSET", KEYS[3], policy, version .. " " .. version .. " " .. digest)
redis.call("INCR", KEYS[2])
redis.call("SET", KEYS[6], redis.call("GET", KEYS[2]))
return {DONE, version}
