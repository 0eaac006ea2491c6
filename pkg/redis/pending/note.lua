-- Notes that an object changed, for each of some placements.
--
-- KEYS[2]  placements: placement → "token known lost first held last selected"
-- KEYS[3]  changes, all with score 0: placement "\n" "new" or "held" "\n" object
-- ARGV[2]  object
-- ARGV[3]  now, in milliseconds
-- ARGV[4]  how many changes of one placement are kept
-- ARGV[5…] placements
--
-- Of a placement that nobody has ever taken nothing is noted: it will be selected
-- afresh. Where more changed than are kept, they are lost, which is noted.
--
-- Returns: DONE.
for i = 5, #ARGV do
	local p = ARGV[i]
	local state = redis.call("HGET", KEYS[2], p)
	if state then
		local token, known, lost, first, rest = string.match(state, "^(%d+) (%d) (%d) (%d+) (.*)$")
		if lost == "0" then
			redis.call("ZADD", KEYS[3], 0, p .. "\nnew\n" .. ARGV[2])
			if redis.call("ZLEXCOUNT", KEYS[3], "[" .. p .. "\nnew\n", "(" .. p .. "\nnew\v") > tonumber(ARGV[4]) then
				redis.call("ZREMRANGEBYLEX", KEYS[3], "[" .. p .. "\nnew\n", "(" .. p .. "\nnew\v")
				lost = "1"
			end
		end
		if first == "0" then
			first = ARGV[3]
		end
		redis.call("HSET", KEYS[2], p, token .. " " .. known .. " " .. lost .. " " .. first .. " " .. rest)
	end
end
return {DONE}
