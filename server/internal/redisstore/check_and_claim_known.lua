-- What check_and_claim does about a claim that is already known, and about
-- ordered and final ones. Go puts this file after check_and_claim.lua and what it
-- needs; it is no script of its own.

local STILL_IN_PROGRESS, CONFLICT, ALREADY_FAILED, IS_PARKED, NEEDS_RECONCILE, OUT_OF_ORDER = 2, 4, 5, 6, 7, 8
local entity_key, hold_key, flagged = KEYS[6], KEYS[7], KEYS[8]
local ordered = entity_key ~= nil
local owner, print, request, _, _, _, _, namespace, consumer, _, entity, key = unpack('>Bc0Bc0Bc0I3I6I3Bc0Bc0Bc0Hc0Hc0Hc0', ARGV[3])
local lease, retention, most, reconcile, one_shot, audit, again = unpack('>I6I6I4BBBB', ARGV[4])
local event, rules, e = { version = '', id = '', state = '' }, nil, nil
local entity_retention, entity_member, rules_at
if ordered then
  event.version, event.id, event.state, entity_retention, entity_member, rules_at = unpack('>Bc0Hc0Bc0I6Bc0', ARGV[5])
end

local r = load(record_key, stored)
if r and r.err then return r end

local function log_claim(outcome, order_outcome)
  if again == 1 and (outcome == STILL_IN_PROGRESS or order_outcome == BUSY) then return end
  local name = ({ 'CLAIMED', 'IN_PROGRESS', 'DUPLICATE', 'CONFLICT', 'FAILED', 'PARKED', 'NEEDS_RECONCILE', 'OUT_OF_ORDER' })[outcome]
  if order_outcome ~= 0 then name = name .. ' ' .. ORDER_NAMES[order_outcome] end
  log_decision(log, {
    rpc = 'CheckAndClaim', outcome = name, namespace = namespace, consumer = consumer, subject = key, entity = entity,
    version = event.version, event = event.id, attempt = r and r.attempt, owner = owner
  })
end

local function reply(outcome, reentrant, order_outcome, busy)
  local status, kind, body = 0, '', ''
  if outcome == DUPLICATE or outcome == ALREADY_FAILED then
    status, kind, body = result_of(r, result_key)
    if not status then return unreadable('result') end
  end
  if logs(audit, outcome == CLAIMED or outcome == DUPLICATE) then log_claim(outcome, order_outcome or 0) end
  local token, died, previous, started = 0, 0, '', 0
  if outcome == CLAIMED then
    token, died, previous = r.token, r.died, r.previous or ''
    if has(r, PRIOR_STARTED) then started = 1 end
  end
  local at = r or { attempt = 0, hold = 0, ttl = 0, first = 0, completed = 0, state = ABSENT, flags = 0 }
  local hold = 0
  if at.state == IN_PROGRESS or at.state == RELEASED then hold = at.hold end
  local seen = e and encode_entity(e) or ''
  return pack(REPLY, outcome, has(at, FINAL) and 1 or 0, token, at.attempt, reentrant and 1 or 0, died, #previous, previous, started, now, hold, at.ttl,
    at.first, at.completed, at.state, status, #kind, kind, #body, body,
    order_outcome or 0, busy or 0, #seen, seen)
end

-- read_entity loads what an ordered claim is judged by. What it may write to
-- later must be of the right type now.
local function read_entity()
  rules = rules_of(ARGV[5], rules_at)
  redis.call('ZCARD', progress)
  redis.call('ZCARD', flagged)
  e = load_entity(entity_key, namespace, consumer, entity)
  return e
end

-- out_of_order is the reply if the order does not let the event through, nil if
-- it does.
local function out_of_order()
  local outcome, _, busy = judge(e, event, rules, hold_key, member, now)
  if type(outcome) == 'table' then return outcome end
  if outcome == APPLIED then return nil end
  if outcome ~= FUTURE and outcome ~= BUSY then
    save_entity(entity_key, flagged, entity_member, e, now, keep_longer(entity_key, entity_retention))
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
  if r.state == IN_PROGRESS and has(r, STARTED) and reconcile == 1 then return reply(NEEDS_RECONCILE) end
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
  r = {
    state = ABSENT, flags = 0, token = r and r.token or 0, attempt = 0, died = 0, first = floor(now / 1000), completed = 0,
    owner = '', print = '', request = '', retention = 0, base = 0, previous = '',
    namespace = '', consumer = '', reason = '', entity = '', key = '', version = '',
    event_state = '', event = '', ttl = 0, hold = 0
  }
end
if r.state == IN_PROGRESS then
  r.died, r.previous = r.attempt, r.owner
  r.flags = bit.band(r.flags, STARTED)
  if r.flags ~= 0 then r.flags = bit.bor(r.flags, PRIOR_STARTED) end
end
r.state, r.token, r.attempt = IN_PROGRESS, next_token(r.token, now), math.min(r.attempt + 1, MOST_ATTEMPTS)
r.request, r.owner, r.reason = request, owner, ''
if print ~= '' then r.print = print end

if one_shot == 1 then
  if r.attempt > 1 then redis.call('ZREM', progress, member) end
  r.state, r.completed = COMPLETED, floor(now / 1000)
  r.flags = bit.bor(bit.band(r.flags, PRIOR_STARTED), FINAL)
  save(record_key, r, 0, retention)
  return reply(CLAIMED)
end
r.namespace, r.consumer, r.entity, r.key = namespace, consumer, entity, key
r.version, r.event_state, r.event = event.version, event.state, event.id
track(progress, member, now, lease + retention)
write_claim()
return reply(CLAIMED)
