-- resolve_claim: records what an operator found out about a claim that nobody
-- works on. The old holder's token ends either way.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 packed: member, resolution (1 done, 2 not done), result ('': none),
--       result retention (ms), namespace, consumer, entity, key, actor, reason
--       2 ordered, packed: retention of the entity (ms), its member, and the
--       rules, as in rules_of
-- reply packed: the claim as it is now, as in claim_reply
--       or an error: CLAIM_NOT_FOUND, CLAIM_HELD, CLAIM_SETTLED
-- clock Redis

local record_key, result_key, progress, parked = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local entity_key, hold_key, flagged = KEYS[6], KEYS[7], KEYS[8]
local member, resolution, result, result_retention, namespace, consumer, entity, key, actor, reason =
  unpack('>Bc0BI4c0I6Bc0Bc0Hc0Hc0Bc0Hc0', ARGV[1])
local done = resolution == 1

local r = load(record_key)
if r and r.err then return r end
local now = clock()
local function log(outcome)
  log_decision(KEYS[5], {
    rpc = 'ResolveClaim', outcome = outcome, namespace = namespace, consumer = consumer, subject = key, entity = entity,
    attempt = r and r.attempt, actor = actor, reason = reason
  })
end
local function refuse(why)
  log(why)
  return redis.error_reply(why .. ' see the contract')
end

if not r or r.state == FORGOTTEN then return refuse('CLAIM_NOT_FOUND') end
if r.state == IN_PROGRESS and r.hold > 0 then return refuse('CLAIM_HELD') end
if r.state == COMPLETED and done then
  local status, kind, body = result_of(r, result_key)
  if not status then return unreadable('result') end
  log('DONE')
  return claim_reply(r, now, status, kind, body)
end
if r.state == COMPLETED or r.state == FAILED then return refuse('CLAIM_SETTLED') end

local e, held_by = nil, nil
if entity_key then
  redis.call('ZCARD', flagged)
  e = load_entity(entity_key, namespace, consumer, entity)
  if e.err then return e end
  held_by = redis.call('GET', hold_key)
end
local retention = r.retention
redis.call('ZCARD', parked)
redis.call('ZREM', progress, member)
redis.call('ZREM', parked, member)
if e then free(hold_key, held_by, member) end
local given = r.token
r.token, r.request = next_token(r.token, now), ''
if not done then
  r.state, r.base, r.reason = RELEASED, r.attempt, reason
  r.flags, r.died, r.previous = 0, 0, ''
  save(record_key, r, 0, retention)
  log('NOT_DONE')
  return claim_reply(r, now, 0, '', '')
end
local event = { version = r.version, id = r.event, state = r.event_state }
if e and moves(e, event, given) then
  local entity_retention, entity_member, at = unpack('>I6Bc0', ARGV[2])
  advance(e, event, '', rules_of(ARGV[2], at), now)
  save_entity(entity_key, flagged, entity_member, e, now, entity_retention)
end
r.state, r.flags, r.died, r.reason, r.completed = COMPLETED, 0, 0, '', floor(now / 1000)
if result ~= '' then
  r.flags = HAS_RESULT
  save_result(result_key, '', result, math.min(result_retention, retention))
end
save(record_key, r, 0, retention)
log('DONE')
return claim_reply(r, now, result ~= '' and 1 or 0, '', result)
