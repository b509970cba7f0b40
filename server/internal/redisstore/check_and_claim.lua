-- check_and_claim: gives a claim to who asks first, to its holder again, or to
-- the next one when it was given back or its lease ran out.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
-- ARGV  1 member (the record's name in the indexes)
--       2 request (hash of the attempt's identity)
--       3 lease, ms                      4 retention, ms
--       5 fingerprint ('' : none)        6 owner
--       7 most attempts (0: no limit)    8 '1': a started effect is not handed on
--       9 '1': a final claim
--       10 namespace  11 consumer  12 entity  13 key (what lists show)
-- reply 16 elements: outcome, token, attempt, reentrant, taken over, previous
--       owner, previous had started, now (unix us), hold left (ms), record left
--       (ms), first claimed (unix ms), completed (unix ms), result status,
--       result type, result, state now stored
--       outcome: 1 claimed 2 in progress 3 duplicate 4 conflict 5 failed
--                6 parked 7 needs reconcile
-- clock Redis

local CLAIMED, STILL_IN_PROGRESS, DUPLICATE, CONFLICT, ALREADY_FAILED, IS_PARKED, NEEDS_RECONCILE = 1, 2, 3, 4, 5, 6, 7
local record_key, result_key, progress, parked = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, request, print, owner = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local lease, retention, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[7])

local r = load(record_key)
if r and r.err then return r end
local now = clock()

local function reply(outcome, reentrant)
  local status, kind, body = 0, '', ''
  if outcome == DUPLICATE or outcome == ALREADY_FAILED then
    status, kind, body = result_of(r, result_key)
    if not status then return unreadable('result') end
  end
  local token, taken_over, previous, started = 0, 0, '', 0
  if outcome == CLAIMED then
    token = r.token
    if has(r, TAKEN_OVER) then
      taken_over, previous = 1, r.previous
      if has(r, PRIOR_STARTED) then started = 1 end
    end
  end
  local hold = 0
  if r.state == IN_PROGRESS or r.state == RELEASED then hold = r.hold end
  return { outcome, token, r.attempt, reentrant and 1 or 0, taken_over, previous, started, now, hold, r.ttl,
    r.first, r.completed, status, kind, body, r.state }
end

if r then
  if r.print ~= '' and print ~= '' and r.print ~= print then return reply(CONFLICT) end
  if has(r, FINAL) and r.request == request then return reply(CLAIMED, true) end
  if r.state == COMPLETED then return reply(DUPLICATE) end
  if r.state == FAILED then return reply(ALREADY_FAILED) end
  if r.state == PARKED then return reply(IS_PARKED) end
  if r.state == IN_PROGRESS and r.request == request then
    if r.print == '' then r.print = print end
    track(progress, member, now, lease + retention)
    save(record_key, r, lease, retention)
    return reply(CLAIMED, true)
  end
  if r.hold > 0 then return reply(STILL_IN_PROGRESS) end
  if r.state == IN_PROGRESS and has(r, STARTED) and ARGV[8] == '1' then return reply(NEEDS_RECONCILE) end
  if most > 0 and r.attempt >= most then
    if r.state == IN_PROGRESS then r.flags = bit.bor(r.flags, UNSETTLED) end
    if r.reason == '' then r.reason = 'attempts used up' end
    r.state = PARKED
    redis.call('ZCARD', progress)
    track(parked, member, now, r.retention)
    redis.call('ZREM', progress, member)
    save(record_key, r, 0, r.retention)
    return reply(IS_PARKED)
  end
else
  r = { token = 0, attempt = 0, flags = 0, first = math.floor(now / 1000), completed = 0, print = '', owner = '' }
end

local flags = bit.band(r.flags, STARTED)
r.previous = ''
if r.state == IN_PROGRESS then
  r.previous = r.owner
  flags = bit.bor(flags, TAKEN_OVER)
  if flags ~= TAKEN_OVER then flags = bit.bor(flags, PRIOR_STARTED) end
end
r.state, r.flags, r.token, r.attempt = IN_PROGRESS, flags, next_token(r.token, now), r.attempt + 1
r.request, r.owner, r.reason = request, owner, ''
if print ~= '' then r.print = print end

if ARGV[9] == '1' then
  if r.attempt > 1 then redis.call('ZREM', progress, member) end
  r.state, r.completed = COMPLETED, math.floor(now / 1000)
  r.flags = bit.bor(bit.band(flags, TAKEN_OVER + PRIOR_STARTED), FINAL)
  save(record_key, r, 0, retention)
  return reply(CLAIMED)
end
r.namespace, r.consumer, r.entity, r.key = ARGV[10], ARGV[11], ARGV[12], ARGV[13]
track(progress, member, now, lease + retention)
save(record_key, r, lease, retention)
return reply(CLAIMED)
