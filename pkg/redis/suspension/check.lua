-- check reads the flags that may hold back one template.
--
-- KEYS[2]  templates   KEYS[3]  suspended policies   KEYS[4]  suspended bindings
-- ARGV[2]  template id   ARGV[3]  binding id
--
-- Returns {DONE, id of the policy that holds the template or "", that policy's
-- flag or "", the binding's flag or ""}.
local function flag(key, id)
	return string.match(redis.call("HGET", key, id) or "", "\n(.*)$") or ""
end
local policy = string.match(redis.call("HGET", KEYS[2], ARGV[2]) or "", "\n([^\n]*)") or ""
return {DONE, policy, flag(KEYS[3], policy), flag(KEYS[4], ARGV[3])}
