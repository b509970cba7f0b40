-- extend_lease: keeps a claim held, and may record that the effect starts.
-- Creates nothing and wins nothing back: neither the claim nor its entity.
--
-- KEYS  1 record  2 index of claims in progress  3 log
--       ordered: 4 entity record  5 hold
-- ARGV  1 packed: member, token, lease from now (ms), 1 if the effect starts,
--       namespace, consumer, entity, key, audit
-- reply packed: outcome, state, now (unix us), hold left (ms)
--       outcome: 1 ok 2 already settled 3 lost
-- clock Redis

local record_key, progress, log, entity_key, hold_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local member, token, lease, starts, namespace, consumer, entity, key, audit = unpack('>Bc0I7I6BBc0Bc0Hc0Hc0B', ARGV[1])

local r = load(record_key)
if r and r.err then return r end
local now = clock()

local function reply(outcome, hold)
  if logs(audit, outcome == OK) then log_settlement(log, outcome, 'ExtendLease', namespace, consumer, entity, key, r) end
  return pack('>BBI7I6', outcome, state_of(r), now, hold)
end

if not r or r.token ~= token or has(r, UNSETTLED) or r.state == FORGOTTEN then return reply(LOST, 0) end
if r.state ~= IN_PROGRESS then return reply(ALREADY_SETTLED, 0) end
if entity_key and r.hold <= 0 then
  local held_by = redis.call('GET', hold_key)
  if held_by and held_by ~= member then return reply(LOST, 0) end
  local e = load_entity(entity_key, namespace, consumer, entity)
  if e.err then return e end
  local passed
  if r.version == '' then passed = went_on(e, token) else passed = not moves(e, { version = r.version }, token) end
  if passed then return reply(LOST, 0) end
end

if starts == 1 then r.flags = bit.bor(r.flags, STARTED) end
track(progress, member, now, lease + r.retention)
save(record_key, r, lease, r.retention)
if entity_key then redis.call('SET', hold_key, member, 'PX', lease) end
return reply(OK, lease)
