-- back says that the hub went back, and that what was built in an epoch, which is the
-- guard, is not to be believed any more.
--
-- KEYS[2]  progress   KEYS[3]  notices
-- ARGV[2]  the notice
--
-- Returns {DONE}.
redis.call("SADD", KEYS[3], ARGV[2])
redis.call("DEL", KEYS[1], KEYS[2])
return {DONE}
