-- KEYS[2]  dead letters: name → event
-- ARGV[2]  how many at most
-- Returns: DONE, then the events.
local out = {DONE}
for _, event in ipairs(redis.call("HVALS", KEYS[2])) do
  if #out > tonumber(ARGV[2]) then break end
  out[#out + 1] = event
end
return out
