-- release: gives a claim back without its effect, or parks it.
--
-- KEYS  1 record  2 index of claims in progress  3 index of parked ones  4 log
--       ordered: 5 hold
-- ARGV  1 member   2 token   3 reason   4 hold back, ms   5 '1': park
--       6 namespace  7 consumer  8 entity  9 key  10 audit
-- reply 2 elements: outcome, state
--       outcome: 1 ok 2 already settled 3 lost
--       or the error EFFECT_STARTED: it must not be retried blindly
-- clock Redis

local record_key, progress, parked, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, token, hold, park = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[5] == '1'

local r = load(record_key)
if r and r.err then return r end

local function reply(outcome)
  log_settlement(log, ARGV[10], outcome, 'Release', 6, r, ARGV[3])
  return { outcome, state_of(r) }
end

if not r or r.token ~= token or has(r, UNSETTLED) or r.state == FORGOTTEN then return reply(LOST) end
if r.state ~= IN_PROGRESS then return reply(ALREADY_SETTLED) end
if has(r, STARTED) and not park then return redis.error_reply('EFFECT_STARTED it must not be retried blindly') end

local held_by = KEYS[5] and redis.call('GET', KEYS[5])
r.reason, r.request = ARGV[3], ''
if park then
  r.state = PARKED
  redis.call('ZCARD', progress)
  track(parked, member, clock(), r.retention)
else
  r.state = RELEASED
end
redis.call('ZREM', progress, member)
if KEYS[5] then free(KEYS[5], held_by, member) end
save(record_key, r, hold, r.retention)
return reply(OK)
