-- check reads the suspensions that may hold back one template, and notes how far the
-- hub has come.
--
-- KEYS[2]  templates   KEYS[3]  suspended policies   KEYS[4]  suspended bindings
-- KEYS[5]  positions
-- ARGV[2]  template id   ARGV[3]  binding id
-- ARGV[4]  version to which the hub has come (below 2^53); 0: none is told
-- ARGV[5]  its position
--
-- Returns {DONE, id of the policy that holds the template or "", that policy's
-- suspension or "", the binding's suspension or ""}.
local function suspension(key, id)
	return string.match(redis.call("HGET", key, id) or "", "\n(.*)$") or ""
end
if tonumber(ARGV[4]) > tonumber(redis.call("HGET", KEYS[5], ARGV[5]) or "0") then
	redis.call("HSET", KEYS[5], ARGV[5], ARGV[4])
end
local policy = string.match(redis.call("HGET", KEYS[2], ARGV[2]) or "", "\n([^\n]*)") or ""
return {DONE, policy, suspension(KEYS[3], policy), suspension(KEYS[4], ARGV[3])}
