-- KEYS[2]  placements: placement → "token known lost first held last selected"
-- KEYS[3]  changes, all with score 0: placement "\n" "new" or "held" "\n" object
-- ARGV[2]  placement
-- Returns: DONE.
redis.call("HDEL", KEYS[2], ARGV[2])
redis.call("ZREMRANGEBYLEX", KEYS[3], "[" .. ARGV[2] .. "\n", "(" .. ARGV[2] .. "\v")
return {DONE}
