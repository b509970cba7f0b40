-- forget_claim: removes a claim, and leaves a tombstone with its fencing token for
-- as long as the record would have lived.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 hold
-- ARGV  1 packed: member, namespace, consumer, entity, key, actor, reason
-- reply packed: the claim as it was, as in claim_reply
-- clock Redis

local member, namespace, consumer, entity, key, actor, reason = unpack('>Bc0Bc0Bc0Hc0Hc0Bc0Hc0', ARGV[1])
local hold_key = KEYS[6]

local r = load(KEYS[1])
if r and r.err then return r end
local now = clock()
local function log(outcome)
  log_decision(KEYS[5], {
    rpc = 'ForgetClaim', outcome = outcome, namespace = namespace, consumer = consumer, subject = key, entity = entity,
    attempt = r and r.attempt, actor = actor, reason = reason
  })
end
if not r or r.state == FORGOTTEN then
  log('ABSENT')
  return no_claim(now)
end
local status, kind, body = result_of(r, KEYS[2])
if not status then return unreadable('result') end
local was = claim_reply(r, now, status, kind, body)

local held_by = hold_key and redis.call('GET', hold_key)
redis.call('ZCARD', KEYS[4])
redis.call('ZREM', KEYS[3], member)
redis.call('ZREM', KEYS[4], member)
if hold_key then free(hold_key, held_by, member) end
redis.call('DEL', KEYS[2])
local tombstone = { state = FORGOTTEN, flags = 0, token = r.token, attempt = 0, died = 0, first = 0, completed = 0, owner = '', print = '', request = '' }
save(KEYS[1], tombstone, 0, math.max(1, r.ttl)) -- in its last millisecond a record has 0 left
log('OK')
return was
