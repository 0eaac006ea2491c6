-- back records that the hub was restored to an earlier state, and marks Redis as not
-- built, if it still is what was built in the epoch that the guard names.
--
-- KEYS[2]  progress   KEYS[3]  notices
-- ARGV[2]  the notice
--
-- Returns {DONE}.
redis.call("SADD", KEYS[3], ARGV[2])
redis.call("DEL", KEYS[1], KEYS[2])
return {DONE}
