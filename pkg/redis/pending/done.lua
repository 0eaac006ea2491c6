-- Removes the changes of a placement that somebody took and has selected. Changes that
-- were noted since stay; so does the note that some of them were lost, for the next Take.
--
-- KEYS[2]  placements: placement → "token known lost first held last selected"
-- KEYS[3]  changes, all with score 0: placement "\n" "new" or "held" "\n" object
-- ARGV[2]  placement
-- ARGV[3]  token that it was taken with
-- ARGV[4]  by what it was selected
-- ARGV[5]  when its latest snapshot was made, in milliseconds
--
-- Returns: DONE; STALE where another has taken it since.
local p = ARGV[2]
local state = redis.call("HGET", KEYS[2], p)
if not state then
	return {STALE}
end
local token, _, lost, first = string.match(state, "^(%d+) (%d) (%d) (%d+)")
if token ~= ARGV[3] then
	return {STALE}
end
redis.call("ZREMRANGEBYLEX", KEYS[3], "[" .. p .. "\nheld\n", "(" .. p .. "\nheld\v")
redis.call("HSET", KEYS[2], p, token .. " 1 " .. lost .. " " .. first .. " 0 " .. ARGV[5] .. " " .. ARGV[4])
return {DONE}
