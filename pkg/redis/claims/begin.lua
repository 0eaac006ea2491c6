-- begin takes the lock of a rebuild, and empties Redis. If an earlier rebuild noted its
-- progress, the templates that it loaded stay. It has no guard.
--
-- KEYS[1]  epoch      KEYS[2]  lock       KEYS[3]  revision   KEYS[4]  indexed
-- KEYS[5]  progress   KEYS[6]  templates  KEYS[7]  held       KEYS[8]  waiting
-- KEYS[9…]  all other data
-- ARGV[1]  token   ARGV[2]  milliseconds until the lock expires
--
-- Returns {DONE, part, where, …}: how far the other came, {SAME} where Redis is
-- built, or {BUSY} where another rebuild has the lock.
if redis.call("EXISTS", KEYS[1]) == 1 then
	return {SAME}
end
local holder = redis.call("GET", KEYS[2])
if holder and holder ~= ARGV[1] then
	return {BUSY}
end
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
local reply = {DONE}
for _, v in ipairs(redis.call("HGETALL", KEYS[5])) do
	reply[#reply + 1] = v
end
local from = 5
if #reply > 1 then
	from = 9
end
for i = from, #KEYS do
	redis.call("UNLINK", KEYS[i])
end
-- What is kept was written at earlier revisions: this one is later, whatever the clock says.
local now = redis.call("TIME")
local former = tonumber(redis.call("GET", KEYS[3])) or 0
local revision = string.format("%.0f", math.max(now[1] * 1000000 + now[2], former + 1))
redis.call("MSET", KEYS[3], revision, KEYS[4], revision)
return reply
