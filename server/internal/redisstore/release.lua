-- release: gives a claim back without its effect, or parks it.
--
-- KEYS  1 record  2 index of claims in progress  3 index of parked ones
-- ARGV  1 member   2 token   3 reason   4 hold back, ms   5 '1': park
-- reply 2 elements: outcome, state
--       outcome: 1 ok 2 already settled 3 lost
--       or the error EFFECT_STARTED: it must not be retried blindly
-- clock Redis

local OK, ALREADY_SETTLED, LOST = 1, 2, 3
local record_key, progress, parked = KEYS[1], KEYS[2], KEYS[3]
local member, token, hold, park = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[5] == '1'

local r = load(record_key)
if not r then return { LOST, ABSENT } end
if r.err then return r end
if r.token ~= token or has(r, UNSETTLED) then return { LOST, state_of(r) } end
if r.state ~= IN_PROGRESS then return { ALREADY_SETTLED, r.state } end
if has(r, STARTED) and not park then return redis.error_reply('EFFECT_STARTED it must not be retried blindly') end

r.reason, r.request = ARGV[3], ''
if park then
  r.state = PARKED
  redis.call('ZCARD', progress)
  track(parked, member, clock(), r.retention)
else
  r.state = RELEASED
end
redis.call('ZREM', progress, member)
save(record_key, r, hold, r.retention)
return { OK, r.state }
