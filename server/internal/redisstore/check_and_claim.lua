-- check_and_claim: gives a claim to who asks first, to its holder again, or to
-- the next one when it was given back or its lease ran out. An ordered claim is
-- given only if the order lets its event through, and holds its entity.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 member (the record's name in the indexes)
--       2 lease + retention, ms: how long the record of a fresh claim lives; '': an
--       ordered or a final claim, or one whose success is logged
--       3 the end of such a record, as in constants.lua, from the owner on
--       4 packed: lease (ms), retention (ms), most attempts (0: no limit), 1 if a
--       started effect is not handed on, 1 if it is a final claim, audit, 1 if a
--       waiter asks again, which is not logged
--       5 ordered, packed: version, event id, state, retention of the entity (ms),
--       its member, and the rules, as in rules_of
-- reply packed: outcome, 1 if the record is of a final claim, token, attempt,
--       reentrant, last attempt whose lease ran out (0: none), its owner, it had
--       started, now (unix us), hold left (ms), record left (ms), first claimed
--       (unix ms), completed (unix ms), state now stored, result status, result
--       type, result, order's outcome, busy for (ms), entity record
--       or, where nobody had the claim before: 0 and its token alone
--       outcome: 1 claimed 2 in progress 3 duplicate 4 conflict 5 failed
--                6 parked 7 needs reconcile 8 out of order
-- clock Redis
--
-- This part answers what most calls ask: about a claim that nobody had before, or
-- one that is finished and left no result. All others go on to
-- check_and_claim_known.lua.

local REPLY = '>BBI7I3BI3Bc0BI7i8I6I6I6BBBc0I4c0BI6Hc0'
local CLAIMED, DUPLICATE = 1, 3
local record_key, result_key, progress, parked, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local member, life = ARGV[1], ARGV[2]
local now = clock()
local stored -- what GET says of the record, once it has been asked

if life ~= '' then
  local ms = floor(now / 1000)
  local record = pack(START, SCHEMA, IN_PROGRESS, 0, now, 1, ms, 0) .. ARGV[3]
  local set = redis.pcall('SET', record_key, record, 'PX', life, 'NX')
  if type(set) == 'table' and set.ok then -- in a full store it fails, but known claims have their answer
    local left = redis.call('PTTL', progress)
    local placed = redis.pcall('ZADD', progress, ms + life, member)
    if type(placed) == 'table' then
      redis.call('DEL', record_key) -- nothing half written
      return placed
    end
    keep(progress, left, tonumber(life))
    if now % 16 == 0 then redis.call('ZREMRANGEBYSCORE', progress, '-inf', ms - 1) end
    return pack('>BI7', 0, now)
  end

  stored = redis.pcall('GET', record_key)
  local ok, schema, state, flags, _, attempt, first, completed, _, known, _, at = pcall(unpack, HEAD, stored)
  if ok and schema == SCHEMA and state == COMPLETED and flags == 0 then
    local _, print = unpack('>Bc0Bc0', ARGV[3])
    local ttl = redis.call('PTTL', record_key)
    if at == #stored + 1 and ttl >= 0 and (known == '' or print == '' or known == print) then
      return pack(REPLY, DUPLICATE, 0, 0, attempt, 0, 0, 0, '', 0, now, 0, ttl, first, completed, COMPLETED, 0, 0, '', 0, '', 0, 0, 0, '')
    end
  end
end
