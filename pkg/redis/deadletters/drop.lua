-- KEYS[2]  dead letters: name → event
-- ARGV[2...]  names
-- Returns: DONE.
for i = 2, #ARGV do redis.call("HDEL", KEYS[2], ARGV[i]) end
return {DONE}
