-- get_claim: reads a claim and decides nothing.
--
-- KEYS  1 record  2 result
-- ARGV  none
-- reply 19 elements: state, attempt, owner, effect started, token, first claimed
--       (unix ms), now (unix us), hold left (ms), completed (unix ms), record
--       left (ms), reason, fingerprint, result status, result type, result,
--       namespace, consumer, entity, key (these four while the claim is open)
-- clock Redis

local r = load(KEYS[1])
if r and r.err then return r end
local now = clock()
if not r or r.state == FORGOTTEN then return { ABSENT, 0, '', 0, 0, 0, now, 0, 0, 0, '', '', 0, '', '', '', '', '', '' } end
local status, kind, body = result_of(r, KEYS[2])
if not status then return unreadable('result') end
return claim_reply(r, now, status, kind, body)
