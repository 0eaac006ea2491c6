-- scan reads some of the templates, by a pattern of their ids.
--
-- KEYS[2]  templates
-- ARGV[2]  where to go on; 0: the start
-- ARGV[3]  the pattern
-- ARGV[4]  about how many at once
--
-- Returns {DONE, where to go on; 0: nowhere, id, what is kept of the template, id, …}.
local page = redis.call("HSCAN", KEYS[2], ARGV[2], "MATCH", ARGV[3], "COUNT", ARGV[4])
local reply = {DONE, page[1]}
for _, value in ipairs(page[2]) do
	reply[#reply + 1] = value
end
return reply
