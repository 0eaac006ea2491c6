-- KEYS[2]  placements: placement → "token known lost first held last selected"
-- Returns: DONE, then placement, known, selected, first and last of each; first is that
-- of what somebody has in hands, if anybody has.
local out = {DONE}
local all = redis.call("HGETALL", KEYS[2])
for i = 1, #all, 2 do
	local known, lost, first, held, last, selected = string.match(all[i + 1], "^%d+ (%d) (%d) (%d+) (%d+) (%d+) (.*)$")
	if lost == "1" then
		known = "0"
	end
	if held ~= "0" then
		first = held
	end
	out[#out + 1] = all[i]
	out[#out + 1] = known
	out[#out + 1] = selected
	out[#out + 1] = first
	out[#out + 1] = last
end
return out
