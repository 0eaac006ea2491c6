-- Takes the pending changes of a placement. They include those that another process
-- has taken and not finished, for it may be dead; if it is not, its Done is refused.
--
-- KEYS[2]  placements: placement → "token known lost first held last selected"
-- KEYS[3]  changes, all with score 0: placement "\n" "new" or "held" "\n" object
-- ARGV[2]  placement
--
-- Returns: DONE, token, known, selected, first, last, then the objects.
local p = ARGV[2]
local state = redis.call("HGET", KEYS[2], p) or "0 0 0 0 0 0 "
local token, known, lost, first, held, last, selected = string.match(state, "^(%d+) (%d) (%d) (%d+) (%d+) (%d+) (.*)$")
token = tostring(tonumber(token) + 1)
if lost == "1" then
	known = "0"
end
if held == "0" then
	held = first
end
for _, member in ipairs(redis.call("ZRANGEBYLEX", KEYS[3], "[" .. p .. "\nnew\n", "(" .. p .. "\nnew\v")) do
	redis.call("ZREM", KEYS[3], member)
	redis.call("ZADD", KEYS[3], 0, p .. "\nheld\n" .. string.sub(member, #p + 6))
end
redis.call("HSET", KEYS[2], p, token .. " " .. known .. " 0 0 " .. held .. " " .. last .. " " .. selected)
local out = {DONE, token, known, selected, held, last}
for _, member in ipairs(redis.call("ZRANGEBYLEX", KEYS[3], "[" .. p .. "\nheld\n", "(" .. p .. "\nheld\v")) do
	out[#out + 1] = string.sub(member, #p + 7)
end
return out
