-- extend_lease: keeps a claim held, and may record that the effect starts.
-- Creates nothing and wins nothing back.
--
-- KEYS  1 record  2 index of claims in progress
-- ARGV  1 member   2 token   3 lease from now, ms   4 '1': the effect starts
-- reply 4 elements: outcome, state, now (unix us), hold left (ms)
--       outcome: 1 ok 2 already settled 3 lost
-- clock Redis

local OK, ALREADY_SETTLED, LOST = 1, 2, 3
local record_key, progress = KEYS[1], KEYS[2]
local member, token, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local r = load(record_key)
if r and r.err then return r end
local now = clock()
if not r then return { LOST, ABSENT, now, 0 } end
if r.token ~= token or has(r, UNSETTLED) then return { LOST, state_of(r), now, 0 } end
if r.state ~= IN_PROGRESS then return { ALREADY_SETTLED, r.state, now, 0 } end

if ARGV[4] == '1' then r.flags = bit.bor(r.flags, STARTED) end
track(progress, member, now, lease + r.retention)
save(record_key, r, lease, r.retention)
return { OK, IN_PROGRESS, now, lease }
