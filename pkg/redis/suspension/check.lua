-- check reads the suspensions that may hold back one template.
--
-- KEYS[2]  templates   KEYS[3]  suspended policies   KEYS[4]  suspended bindings
-- ARGV[2]  template id   ARGV[3]  binding id
--
-- Returns {DONE, id of the policy that holds the template or "", that policy's
-- suspension or "", the binding's suspension or ""}.
local function suspension(key, id)
	return string.match(redis.call("HGET", key, id) or "", "\n(.*)$") or ""
end
local policy = string.match(redis.call("HGET", KEYS[2], ARGV[2]) or "", "\n([^\n]*)") or ""
return {DONE, policy, suspension(KEYS[3], policy), suspension(KEYS[4], ARGV[3])}
