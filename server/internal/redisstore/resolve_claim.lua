-- resolve_claim: records what an operator found out about a claim that nobody
-- works on. The old holder's token ends either way.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 member  2 resolution: 1 done, 2 not done
--       3 result ('' : none)  4 result retention, ms
--       5 namespace  6 consumer  7 entity  8 key  9 actor  10 reason
--       ordered: 11 to 14 rules, as in rules_of  15 retention of the entity, ms
--       16 the entity's member
-- reply 19 elements: the claim as it is now, as get_claim replies
--       or an error: CLAIM_NOT_FOUND, CLAIM_HELD, CLAIM_SETTLED
-- clock Redis

local record_key, result_key, progress, parked = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local member, done, result = ARGV[1], ARGV[2] == '1', ARGV[3]

local r = load(record_key)
if r and r.err then return r end
local now = clock()
local function log(outcome)
  log_decision(KEYS[5], 'all', true, {
    rpc = 'ResolveClaim', outcome = outcome, namespace = ARGV[5], consumer = ARGV[6], subject = ARGV[8], entity = ARGV[7],
    attempt = r and r.attempt, actor = ARGV[9], reason = ARGV[10]
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
if KEYS[6] then
  redis.call('ZCARD', KEYS[8])
  e = load_entity(KEYS[6], ARGV[5], ARGV[6], ARGV[7])
  if e.err then return e end
  held_by = redis.call('GET', KEYS[7])
end
local retention = r.retention
redis.call('ZCARD', parked)
redis.call('ZREM', progress, member)
redis.call('ZREM', parked, member)
if e then free(KEYS[7], held_by, member) end
local given = r.token
r.token, r.request = next_token(r.token, now), ''
if not done then
  r.state, r.base, r.reason = RELEASED, r.attempt, ARGV[10]
  r.flags, r.died, r.previous = 0, 0, ''
  save(record_key, r, 0, retention)
  log('NOT_DONE')
  return claim_reply(r, now, 0, '', '')
end
local event = { version = r.version, id = r.event, state = r.event_state }
if e and moves(e, event, given) then
  advance(e, event, '', rules_of(11), now)
  save_entity(KEYS[6], KEYS[8], ARGV[16], e, now, tonumber(ARGV[15]))
end
r.state, r.flags, r.died, r.reason, r.completed = COMPLETED, 0, 0, '', math.floor(now / 1000)
if result ~= '' then
  r.flags = HAS_RESULT
  save_result(result_key, '', result, math.min(tonumber(ARGV[4]), retention))
end
save(record_key, r, 0, retention)
log('DONE')
return claim_reply(r, now, result ~= '' and 1 or 0, '', result)
