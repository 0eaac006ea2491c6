-- list reads the templates in some ranges of held or of waiting, in order.
--
-- KEYS[2]  held or waiting   KEYS[3]  templates
-- ARGV[2]  how many at most
-- ARGV[3…] the ranges: first bound, last bound, first bound, …
--
-- Returns {DONE, member, what is kept of its template, member, …}.
local reply = {DONE}
local left = tonumber(ARGV[2])
for i = 3, #ARGV, 2 do
	if left == 0 then
		break
	end
	for _, member in ipairs(redis.call("ZRANGEBYLEX", KEYS[2], ARGV[i], ARGV[i + 1], "LIMIT", 0, left)) do
		local id = string.match(member, "\n(.*)$")
		reply[#reply + 1] = member
		reply[#reply + 1] = redis.call("HGET", KEYS[3], id) or ""
		left = left - 1
	end
end
return reply
