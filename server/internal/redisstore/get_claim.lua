-- get_claim: reads a claim and decides nothing.
--
-- KEYS  1 record  2 result
-- ARGV  none
-- reply packed: the claim, as in claim_reply
-- clock Redis

local r = load(KEYS[1])
if r and r.err then return r end
local now = clock()
if not r or r.state == FORGOTTEN then return no_claim(now) end
local status, kind, body = result_of(r, KEYS[2])
if not status then return unreadable('result') end
return claim_reply(r, now, status, kind, body)
