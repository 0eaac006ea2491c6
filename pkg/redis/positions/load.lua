-- KEYS[2]  positions: name → position
-- Returns: DONE, then name and position of each.
local out = {DONE}
for _, value in ipairs(redis.call("HGETALL", KEYS[2])) do out[#out + 1] = value end
return out
