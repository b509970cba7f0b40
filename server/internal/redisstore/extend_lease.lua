-- extend_lease: keeps a claim held, and may record that the effect starts.
-- Creates nothing and wins nothing back: neither the claim nor its entity.
--
-- KEYS  1 record  2 index of claims in progress  3 log
--       ordered: 4 entity record  5 hold
-- ARGV  1 member   2 token   3 lease from now, ms   4 '1': the effect starts
--       5 namespace  6 consumer  7 entity  8 key  9 audit
-- reply 4 elements: outcome, state, now (unix us), hold left (ms)
--       outcome: 1 ok 2 already settled 3 lost
-- clock Redis

local record_key, progress, log = KEYS[1], KEYS[2], KEYS[3]
local member, token, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ordered = KEYS[4] ~= nil

local r = load(record_key)
if r and r.err then return r end
local now = clock()

local function reply(outcome, hold)
  log_settlement(log, ARGV[9], outcome, 'ExtendLease', 5, r)
  return { outcome, state_of(r), now, hold }
end

if not r or r.token ~= token or has(r, UNSETTLED) or r.state == FORGOTTEN then return reply(LOST, 0) end
if r.state ~= IN_PROGRESS then return reply(ALREADY_SETTLED, 0) end
if ordered and r.hold <= 0 then
  local held_by = redis.call('GET', KEYS[5])
  if held_by and held_by ~= member then return reply(LOST, 0) end
  local e = load_entity(KEYS[4], ARGV[5], ARGV[6], ARGV[7])
  if e.err then return e end
  local passed
  if r.version == '' then passed = went_on(e, token) else passed = not moves(e, { version = r.version }, token) end
  if passed then return reply(LOST, 0) end
end

if ARGV[4] == '1' then r.flags = bit.bor(r.flags, STARTED) end
track(progress, member, now, lease + r.retention)
save(record_key, r, lease, r.retention)
if ordered then redis.call('SET', KEYS[5], member, 'PX', lease) end
return reply(OK, lease)
