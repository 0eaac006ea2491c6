-- finish ends a rebuild, whose lock is the guard: from now on Redis is built.
--
-- KEYS[2]  epoch   KEYS[3]  progress
--
-- Returns {DONE}.
redis.call("SET", KEYS[2], guard)
redis.call("DEL", KEYS[1], KEYS[3])
return {DONE}
