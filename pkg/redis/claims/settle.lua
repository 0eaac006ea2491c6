-- settle says where a template stands from now on: held by a policy, waiting
-- for one, or gone. It leaves wherever it stood before.
--
-- KEYS[2]  revision   KEYS[3]  indexed   KEYS[4]  templates   KEYS[5]  held
-- KEYS[6]  waiting
-- ARGV[2]  template id
-- ARGV[3]  the revision at which this was decided; empty: whatever it is
-- ARGV[4]  record, whose first line is the policy that holds it; empty: gone
-- ARGV[5], ARGV[6]  the template's two members of waiting
--
-- Returns {DONE}, also where the record is that already: from now on this is
-- newer than what others decided before. Or returns {STALE} where the index, or
-- where the template stands, changed after that revision.
local id, record = ARGV[2], ARGV[4]
local revision = tonumber(ARGV[3]) or math.huge
local at, former = string.match(redis.call("HGET", KEYS[4], id) or "0\n", "^(%d+)\n(.*)$")
if tonumber(redis.call("GET", KEYS[3])) > revision or (tonumber(at) > revision and former ~= record) then
	return {STALE}
end

-- place is where a record stands: a sorted set and its members there.
local function place(r)
	local holder = string.match(r, "^[^\n]*")
	if holder ~= "" then
		return KEYS[5], {holder .. "\n" .. id}
	end
	return KEYS[6], {ARGV[5], ARGV[6]}
end

redis.call("INCR", KEYS[2])
if former ~= "" and former ~= record then
	local set, members = place(former)
	for _, member in ipairs(members) do
		redis.call("ZREM", set, member)
	end
end
if record == "" then
	redis.call("HDEL", KEYS[4], id)
	return {DONE}
end
redis.call("HSET", KEYS[4], id, redis.call("GET", KEYS[2]) .. "\n" .. record)
if former ~= record then
	local set, members = place(record)
	for _, member in ipairs(members) do
		redis.call("ZADD", set, 0, member)
	end
end
return {DONE}
