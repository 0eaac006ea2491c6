-- KEYS[2]  dead letters: name → event
-- ARGV[2]  name
-- ARGV[3]  event
-- ARGV[4]  how many may be kept
-- Returns: DONE, and "kept" unless there are too many.
if redis.call("HEXISTS", KEYS[2], ARGV[2]) == 0 and redis.call("HLEN", KEYS[2]) >= tonumber(ARGV[4]) then
  return {DONE}
end
redis.call("HSET", KEYS[2], ARGV[2], ARGV[3])
return {DONE, "kept"}
