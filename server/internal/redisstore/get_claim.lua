-- get_claim: reads a claim and decides nothing.
--
-- KEYS  1 record  2 result
-- ARGV  none
-- reply 15 elements: state, attempt, owner, effect started, token, first claimed
--       (unix ms), now (unix us), hold left (ms), completed (unix ms), record
--       left (ms), reason, fingerprint, result status, result type, result
-- clock Redis

local r = load(KEYS[1])
if r and r.err then return r end
local now = clock()
if not r then return { ABSENT, 0, '', 0, 0, 0, now, 0, 0, 0, '', '', 0, '', '' } end
local status, kind, body = result_of(r, KEYS[2])
if not status then return unreadable('result') end
return { state_of(r), r.attempt, r.owner, has(r, STARTED) and 1 or 0, r.token, r.first, now, r.hold, r.completed,
  r.ttl, r.reason, r.print, status, kind, body }
