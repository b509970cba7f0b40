-- check_and_claim: gives a claim to who asks first, to its holder again, or to
-- the next one when it was given back or its lease ran out. An ordered claim is
-- given only if the order lets its event through, and holds its entity.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 member (the record's name in the indexes)
--       2 request (hash of the attempt's identity)
--       3 lease, ms                      4 retention, ms
--       5 fingerprint ('' : none)        6 owner
--       7 most attempts (0: no limit)    8 '1': a started effect is not handed on
--       9 '1': a final claim
--       10 namespace  11 consumer  12 entity  13 key (what lists show)
--       14 audit  15 '1': a waiter asks again, which is not logged
--       ordered: 16 version  17 event id  18 state  19 retention of the entity, ms
--       20 to 23 rules, as in rules_of  24 the entity's member
-- reply 19 elements: outcome, token, attempt, reentrant, last attempt whose lease
--       ran out (0: none), its owner, it had started, now (unix us), hold left (ms), record left
--       (ms), first claimed (unix ms), completed (unix ms), result status,
--       result type, result, state now stored, order's outcome, busy for (ms),
--       entity record
--       outcome: 1 claimed 2 in progress 3 duplicate 4 conflict 5 failed
--                6 parked 7 needs reconcile 8 out of order
-- clock Redis

local CLAIMED, STILL_IN_PROGRESS, DUPLICATE, CONFLICT, ALREADY_FAILED, IS_PARKED, NEEDS_RECONCILE, OUT_OF_ORDER = 1, 2, 3, 4, 5, 6, 7, 8
local CLAIM_NAMES = { 'CLAIMED', 'IN_PROGRESS', 'DUPLICATE', 'CONFLICT', 'FAILED', 'PARKED', 'NEEDS_RECONCILE', 'OUT_OF_ORDER' }
local record_key, result_key, progress, parked, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local entity_key, hold_key, flagged = KEYS[6], KEYS[7], KEYS[8]
local member, request, print, owner = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local lease, retention, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[7])
local ordered = entity_key ~= nil
local event, rules, e = { version = '', id = '', state = '' }, nil, nil
if ordered then event = { version = ARGV[16], id = ARGV[17], state = ARGV[18] } end

local r = load(record_key)
if r and r.err then return r end
local now = clock()

local function log_claim(outcome, order_outcome)
  if ARGV[15] == '1' and (outcome == STILL_IN_PROGRESS or order_outcome == BUSY) then return end
  local name = CLAIM_NAMES[outcome]
  if order_outcome ~= 0 then name = name .. ' ' .. ORDER_NAMES[order_outcome] end
  log_decision(log, ARGV[14], outcome == CLAIMED or outcome == DUPLICATE, {
    rpc = 'CheckAndClaim', outcome = name, namespace = ARGV[10], consumer = ARGV[11], subject = ARGV[13], entity = ARGV[12],
    version = event.version, event = event.id, attempt = r and r.attempt, owner = owner
  })
end

local function reply(outcome, reentrant, order_outcome, busy)
  local status, kind, body = 0, '', ''
  if outcome == DUPLICATE or outcome == ALREADY_FAILED then
    status, kind, body = result_of(r, result_key)
    if not status then return unreadable('result') end
  end
  log_claim(outcome, order_outcome or 0)
  local token, died, previous, started = 0, 0, '', 0
  if outcome == CLAIMED then
    token, died, previous = r.token, r.died, r.previous
    if has(r, PRIOR_STARTED) then started = 1 end
  end
  local at = r or { attempt = 0, hold = 0, ttl = 0, first = 0, completed = 0, state = ABSENT }
  local hold = 0
  if at.state == IN_PROGRESS or at.state == RELEASED then hold = at.hold end
  return { outcome, token, at.attempt, reentrant and 1 or 0, died, previous, started, now, hold, at.ttl,
    at.first, at.completed, status, kind, body, at.state, order_outcome or 0, busy or 0, e and encode_entity(e) or '' }
end

-- read_entity loads what an ordered claim is judged by. What it may write to
-- later must be of the right type now.
local function read_entity()
  rules = rules_of(20)
  redis.call('ZCARD', progress)
  redis.call('ZCARD', flagged)
  e = load_entity(entity_key, ARGV[10], ARGV[11], ARGV[12])
  return e
end

-- out_of_order is the reply if the order does not let the event through, nil if
-- it does.
local function out_of_order()
  local outcome, _, busy = judge(e, event, rules, hold_key, member, now)
  if type(outcome) == 'table' then return outcome end
  if outcome == APPLIED then return nil end
  if outcome ~= FUTURE and outcome ~= BUSY then
    save_entity(entity_key, flagged, ARGV[24], e, now, keep_longer(entity_key, tonumber(ARGV[19])))
  end
  return reply(OUT_OF_ORDER, false, outcome, busy)
end

-- write_claim writes the claim, and the hold on its entity after it: each write
-- reads the clock, and the hold must not end before the lease.
local function write_claim()
  save(record_key, r, lease, retention)
  if ordered then redis.call('SET', hold_key, member, 'PX', lease) end
end

local function reenter()
  if r.print == '' then r.print = print end
  track(progress, member, now, lease + retention)
  write_claim()
  return reply(CLAIMED, true)
end

if r and r.state ~= FORGOTTEN then
  if r.print ~= '' and print ~= '' and r.print ~= print then return reply(CONFLICT) end
  if has(r, FINAL) and r.request == request then return reply(CLAIMED, true) end
  if r.state == COMPLETED then return reply(DUPLICATE) end
  if r.state == FAILED then return reply(ALREADY_FAILED) end
  if r.state == PARKED then return reply(IS_PARKED) end
  if r.state == IN_PROGRESS and r.request == request then
    if ordered then
      if read_entity().err then return e end
      local refused = r.hold <= 0 and out_of_order()
      if refused then return refused end
    end
    return reenter()
  end
  if r.hold > 0 then return reply(STILL_IN_PROGRESS) end
  if r.state == IN_PROGRESS and has(r, STARTED) and ARGV[8] == '1' then return reply(NEEDS_RECONCILE) end
  if most > 0 and r.attempt - r.base >= most then
    if r.state == IN_PROGRESS then r.flags = bit.bor(r.flags, UNSETTLED) end
    if r.reason == '' then r.reason = 'attempts used up' end
    r.state = PARKED
    redis.call('ZCARD', progress)
    track(parked, member, now, r.retention)
    redis.call('ZREM', progress, member)
    save(record_key, r, 0, r.retention)
    return reply(IS_PARKED)
  end
end
if ordered then
  if read_entity().err then return e end
  local refused = out_of_order()
  if refused then return refused end
end

if not r or r.state == FORGOTTEN then
  r = { token = r and r.token or 0, attempt = 0, base = 0, died = 0, flags = 0, first = math.floor(now / 1000), completed = 0,
    print = '', owner = '', previous = '' }
end
if r.state == IN_PROGRESS then
  r.died, r.previous = r.attempt, r.owner
  r.flags = bit.band(r.flags, STARTED)
  if r.flags ~= 0 then r.flags = bit.bor(r.flags, PRIOR_STARTED) end
end
r.state, r.token, r.attempt = IN_PROGRESS, next_token(r.token, now), math.min(r.attempt + 1, MOST_ATTEMPTS)
r.request, r.owner, r.reason = request, owner, ''
if print ~= '' then r.print = print end

if ARGV[9] == '1' then
  if r.attempt > 1 then redis.call('ZREM', progress, member) end
  r.state, r.completed = COMPLETED, math.floor(now / 1000)
  r.flags = bit.bor(bit.band(r.flags, PRIOR_STARTED), FINAL)
  save(record_key, r, 0, retention)
  return reply(CLAIMED)
end
r.namespace, r.consumer, r.entity, r.key = ARGV[10], ARGV[11], ARGV[12], ARGV[13]
r.version, r.event_state, r.event = event.version, event.state, event.id
track(progress, member, now, lease + retention)
write_claim()
return reply(CLAIMED)
