-- complete: ends a claim as done, or as failed for good, and stores its result.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
-- ARGV  1 member   2 token   3 state to store: 3 completed, 4 failed
--       4 retention, ms (0: what the claim asked for)
--       5 retention of a record that is gone, ms
--       6 result retention, ms   7 '1': the request named 6 itself
--       8 '1': there is a result  9 result type  10 result
-- reply 6 elements: outcome, state, late, recreated, now (unix us), record left (ms)
--       outcome: 1 ok 2 already settled 3 lost
--       or the error RESULT_RETENTION <ms>: 6 is longer than the retention
-- clock Redis

local OK, ALREADY_SETTLED, LOST = 1, 2, 3
local record_key, result_key, progress, parked = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, token, state = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local retention, result_retention = tonumber(ARGV[4]), tonumber(ARGV[6])

local r = load(record_key)
if r and r.err then return r end
local now = clock()

if r then
  local holder = r.state == IN_PROGRESS or has(r, UNSETTLED)
  if r.token ~= token then return { LOST, state_of(r), 0, 0, now, r.ttl } end
  if not holder then return { ALREADY_SETTLED, r.state, 0, 0, now, r.ttl } end
end

local late, recreated = 0, 0
if not r then
  recreated = 1
  r = { token = token, attempt = 1, first = math.floor(now / 1000), print = '', owner = '', retention = tonumber(ARGV[5]) }
elseif r.state == PARKED or r.hold <= 0 then
  late = 1
end
if retention == 0 then retention = r.retention end
if result_retention > retention then
  if ARGV[7] == '1' then return redis.error_reply(string.format('RESULT_RETENTION %.0f', retention)) end
  result_retention = retention
end

redis.call('ZREM', progress, member)
if r.state == PARKED then redis.call('ZREM', parked, member) end
r.state, r.flags, r.request, r.completed = state, 0, '', math.floor(now / 1000)
if ARGV[8] == '1' then
  r.flags = HAS_RESULT
  local v = struct.pack('>BBc0I4c0', SCHEMA, #ARGV[9], ARGV[9], #ARGV[10], ARGV[10])
  redis.call('SET', result_key, v, 'PX', result_retention)
end
save(record_key, r, 0, retention)
return { OK, state, late, recreated, now, retention }
