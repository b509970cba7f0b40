-- forget_claim: removes a claim, and leaves a tombstone with its fencing token for
-- as long as the record would have lived.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 hold
-- ARGV  1 member  2 namespace  3 consumer  4 entity  5 key  6 actor  7 reason
-- reply 19 elements: the claim as it was, as get_claim replies
-- clock Redis

local r = load(KEYS[1])
if r and r.err then return r end
local now = clock()
local function log(outcome)
  log_decision(KEYS[5], 'all', true, {
    rpc = 'ForgetClaim', outcome = outcome, namespace = ARGV[2], consumer = ARGV[3], subject = ARGV[5], entity = ARGV[4],
    attempt = r and r.attempt, actor = ARGV[6], reason = ARGV[7]
  })
end
if not r or r.state == FORGOTTEN then
  log('ABSENT')
  return { ABSENT, 0, '', 0, 0, 0, now, 0, 0, 0, '', '', 0, '', '', '', '', '', '' }
end
local status, kind, body = result_of(r, KEYS[2])
if not status then return unreadable('result') end
local was = claim_reply(r, now, status, kind, body)

local held_by = KEYS[6] and redis.call('GET', KEYS[6])
redis.call('ZCARD', KEYS[4])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
if KEYS[6] then free(KEYS[6], held_by, ARGV[1]) end
redis.call('DEL', KEYS[2])
local tombstone = { state = FORGOTTEN, flags = 0, token = r.token, attempt = 0, died = 0, first = 0, completed = 0, owner = '', print = '', request = '' }
save(KEYS[1], tombstone, 0, math.max(1, r.ttl)) -- in its last millisecond a record has 0 left
log('OK')
return was
