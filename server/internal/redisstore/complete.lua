-- complete: ends a claim as done, or as failed for good, and stores its result. An
-- ordered one frees its entity and moves it to the claim's event.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 packed: member, token, state to store (3 completed, 4 failed), retention
--       (ms, 0: what the claim asked for), retention of a record that is gone (ms),
--       result retention (ms), 1 if the request named it itself, 1 if there is a
--       result, result type, result, namespace, consumer, entity, key, audit
--       2 ordered, packed: retention of the entity (ms), its member, and the
--       rules, as in rules_of
-- reply packed: outcome, state, late, recreated, now (unix us), record left (ms),
--       entity record
--       outcome: 1 ok 2 already settled 3 lost
--       or the error RESULT_RETENTION <ms>: the result's is longer than the
--       claim's
-- clock Redis

local record_key, result_key, progress, parked, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local entity_key, hold_key, flagged = KEYS[6], KEYS[7], KEYS[8]
local member, token, state, retention, lost_retention, result_retention, named, has_result, kind, body,
  namespace, consumer, entity, key, audit = unpack('>Bc0I7BI6I6I6BBBc0I4c0Bc0Bc0Hc0Hc0B', ARGV[1])
local e, held_by = nil, nil

local r = load(record_key)
if r and r.err then return r end
if entity_key then
  redis.call('ZCARD', progress)
  redis.call('ZCARD', flagged)
  e = load_entity(entity_key, namespace, consumer, entity)
  if e.err then return e end
  held_by = redis.call('GET', hold_key)
end
local now = clock()

local function reply(outcome, now_stored, late, recreated, left)
  if logs(audit, outcome == OK) then log_settlement(log, outcome, 'Complete', namespace, consumer, entity, key, r) end
  local seen = e and encode_entity(e) or ''
  return pack('>BBBBI7I6Hc0', outcome, now_stored, late, recreated, now, left, #seen, seen)
end

if r then
  local holder = r.state == IN_PROGRESS or has(r, UNSETTLED)
  if r.token ~= token or r.state == FORGOTTEN then return reply(LOST, state_of(r), 0, 0, r.ttl) end
  if not holder then return reply(ALREADY_SETTLED, r.state, 0, 0, r.ttl) end
end

local late, recreated = 0, 0
if not r and token > now + FUTURE_TOKEN then return reply(LOST, ABSENT, 0, 0, 0) end
if not r then
  recreated = 1
  r = { token = token, attempt = 1, died = 0, first = floor(now / 1000), print = '', owner = '', retention = lost_retention,
    version = '', event_state = '', event = '' }
elseif r.state == PARKED or r.hold <= 0 then
  late = 1
end
if retention == 0 then retention = r.retention end
if result_retention > retention then
  if named == 1 then return redis.error_reply(string.format('RESULT_RETENTION %.0f', retention)) end
  result_retention = retention
end

redis.call('ZREM', progress, member)
if r.state == PARKED then redis.call('ZREM', parked, member) end
if entity_key then
  free(hold_key, held_by, member)
  local event = { version = r.version, id = r.event, state = r.event_state }
  if moves(e, event, token) then
    local entity_retention, entity_member, at = unpack('>I6Bc0', ARGV[2])
    advance(e, event, '', rules_of(ARGV[2], at), now)
    save_entity(entity_key, flagged, entity_member, e, now, entity_retention)
  end
end
r.state, r.flags, r.died, r.request, r.completed = state, 0, 0, '', floor(now / 1000)
if has_result == 1 then
  r.flags = HAS_RESULT
  save_result(result_key, kind, body, result_retention)
end
save(record_key, r, 0, retention)
return reply(OK, state, late, recreated, retention)
