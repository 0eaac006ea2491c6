-- KEYS[2]  dead letters: name → event
-- KEYS[3]  positions: name → position
-- ARGV[2]  how many at most
-- ARGV[3]  the name of the position: the dead letter that was read last
-- Returns: DONE, then the events, begun behind those that were read last.
local names = redis.call("HKEYS", KEYS[2])
table.sort(names)
local last = redis.call("HGET", KEYS[3], ARGV[3]) or ""
local first = 1
for i, name in ipairs(names) do
  if name > last then first = i break end
end
local out = {DONE}
for i = 0, math.min(tonumber(ARGV[2]), #names) - 1 do
  last = names[(first + i - 1) % #names + 1]
  out[#out + 1] = redis.call("HGET", KEYS[2], last)
end
if #out > 1 then redis.call("HSET", KEYS[3], ARGV[3], last) end
return out
