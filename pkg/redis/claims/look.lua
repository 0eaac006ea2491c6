-- look reads all that a decision about one template needs.
--
-- KEYS[2]  revision   KEYS[3]  templates   KEYS[4]  index   KEYS[5]  policies
-- ARGV[2]  template id
-- ARGV[3…] the entries of the index that may select the template
--
-- Returns {DONE, epoch, revision, what is kept of the template or "",
--          policy id, "version since digest", policy id, …}, each policy once.
-- Nothing that happens later has a revision as low as that.
local reply = {DONE, guard, redis.call("GET", KEYS[2]) or "", redis.call("HGET", KEYS[3], ARGV[2]) or ""}
local seen = {}
for i = 3, #ARGV do
	local prefix = ARGV[i] .. "\n"
	for _, member in ipairs(redis.call("ZRANGEBYLEX", KEYS[4], "[" .. prefix, "(" .. prefix .. "\255")) do
		local policy = string.sub(member, #prefix + 1)
		local known = redis.call("HGET", KEYS[5], policy)
		if known and not seen[policy] then
			seen[policy] = true
			reply[#reply + 1] = policy
			reply[#reply + 1] = known
		end
	end
end
return reply
