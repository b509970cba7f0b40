-- release: gives a claim back without its effect, or parks it.
--
-- KEYS  1 record  2 index of claims in progress  3 index of parked ones  4 log
--       ordered: 5 hold
-- ARGV  1 packed: member, token, reason, hold back (ms), 1 to park, namespace,
--       consumer, entity, key, audit
-- reply packed: outcome, state
--       outcome: 1 ok 2 already settled 3 lost
--       or the error EFFECT_STARTED: it must not be retried blindly
-- clock Redis

local record_key, progress, parked, log, hold_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local member, token, reason, hold, park, namespace, consumer, entity, key, audit = unpack('>Bc0I7Hc0I6BBc0Bc0Hc0Hc0B', ARGV[1])

local r = load(record_key)
if r and r.err then return r end

local function reply(outcome)
  if logs(audit, outcome == OK) then log_settlement(log, outcome, 'Release', namespace, consumer, entity, key, r, reason) end
  return pack('>BB', outcome, state_of(r))
end

if not r or r.token ~= token or has(r, UNSETTLED) or r.state == FORGOTTEN then return reply(LOST) end
if r.state ~= IN_PROGRESS then return reply(ALREADY_SETTLED) end
if has(r, STARTED) and park == 0 then return redis.error_reply('EFFECT_STARTED it must not be retried blindly') end

local held_by = hold_key and redis.call('GET', hold_key)
r.reason, r.request = reason, ''
if park == 1 then
  r.state = PARKED
  redis.call('ZCARD', progress)
  track(parked, member, clock(), r.retention)
else
  r.state = RELEASED
end
redis.call('ZREM', progress, member)
if hold_key then free(hold_key, held_by, member) end
save(record_key, r, hold, r.retention)
return reply(OK)
