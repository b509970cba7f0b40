-- check_and_claim: gives a claim to who asks first, to its holder again, or to
-- the next one when it was given back or its lease ran out. An ordered claim is
-- given only if the order lets its event through, and holds its entity.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 packed: member (the record's name in the indexes), request (hash of the
--       attempt's identity), lease (ms), retention (ms), fingerprint ('': none),
--       owner, most attempts (0: no limit), 1 if a started effect is not handed
--       on, 1 if it is a final claim, namespace, consumer, entity, key (these four
--       are what lists show), audit, 1 if a waiter asks again, which is not logged
--       2 ordered, packed: version, event id, state, retention of the entity (ms),
--       its member, and the rules, as in rules_of
-- reply packed: outcome, 1 if the record is of a final claim, token, attempt,
--       reentrant, last attempt whose lease ran out (0: none), its owner, it had
--       started, now (unix us), hold left (ms), record left (ms), first claimed
--       (unix ms), completed (unix ms), state now stored, result status, result
--       type, result, order's outcome, busy for (ms), entity record
--       outcome: 1 claimed 2 in progress 3 duplicate 4 conflict 5 failed
--                6 parked 7 needs reconcile 8 out of order
-- clock Redis
--
-- This part gives the claims that nobody had before, which most are. All others
-- go on to check_and_claim_known.lua.

local REPLY = '>BBI7I3BI3Bc0BI7i8I6I6I6BBBc0I4c0BI6Hc0'
local CLAIMED = 1
local record_key, result_key, progress, parked, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local entity_key, hold_key, flagged = KEYS[6], KEYS[7], KEYS[8]
local member, request, lease, retention, print, owner, most, reconcile, one_shot, namespace, consumer, entity, key, audit, again =
  unpack('>Bc0Bc0I6I6Bc0Bc0I4BBBc0Bc0Hc0Hc0BB', ARGV[1])
local now = clock()

if not entity_key and one_shot == 0 and audit < LOG_ALL then
  local ms, life = floor(now / 1000), lease + retention
  local record = pack(OPEN, SCHEMA, IN_PROGRESS, 0, now, 1, ms, 0, #owner, owner, #print, print, #request, request, 0, retention, 0,
    0, '', #namespace, namespace, #consumer, consumer, 0, '', 0, '', #key, key, 0, '', 0, '', 0, '')
  local set = redis.pcall('SET', record_key, record, 'PX', life, 'NX')
  if type(set) == 'table' and set.ok then -- in a full store it fails, but known claims have their answer
    local left = redis.call('PTTL', progress)
    local placed = redis.pcall('ZADD', progress, ms + life, member)
    if type(placed) == 'table' then
      redis.call('DEL', record_key) -- nothing half written
      return placed
    end
    keep(progress, left, life)
    if now % 16 == 0 then redis.call('ZREMRANGEBYSCORE', progress, '-inf', ms - 1) end
    return pack(REPLY, CLAIMED, 0, now, 1, 0, 0, 0, '', 0, now, lease, life, ms, 0, IN_PROGRESS, 0, 0, '', 0, '', 0, 0, 0, '')
  end
end
