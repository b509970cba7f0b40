-- complete: ends a claim as done, or as failed for good, and stores its result. An
-- ordered one frees its entity and moves it to the claim's event.
--
-- KEYS  1 record  2 result  3 index of claims in progress  4 index of parked ones
--       5 log; ordered: 6 entity record  7 hold  8 index of flagged entities
-- ARGV  1 member   2 token   3 state to store: 3 completed, 4 failed
--       4 retention, ms (0: what the claim asked for)
--       5 retention of a record that is gone, ms
--       6 result retention, ms   7 '1': the request named 6 itself
--       8 '1': there is a result  9 result type  10 result
--       11 namespace  12 consumer  13 entity  14 key  15 audit
--       ordered: 16 to 19 rules, as in rules_of  20 retention of the entity, ms
--       21 the entity's member
-- reply 7 elements: outcome, state, late, recreated, now (unix us), record left
--       (ms), entity record
--       outcome: 1 ok 2 already settled 3 lost
--       or the error RESULT_RETENTION <ms>: 6 is longer than the retention
-- clock Redis

local record_key, result_key, progress, parked, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local member, token, state = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local retention, result_retention = tonumber(ARGV[4]), tonumber(ARGV[6])
local ordered = KEYS[6] ~= nil
local e, held_by = nil, nil

local r = load(record_key)
if r and r.err then return r end
if ordered then
  redis.call('ZCARD', progress)
  redis.call('ZCARD', KEYS[8])
  e = load_entity(KEYS[6], ARGV[11], ARGV[12], ARGV[13])
  if e.err then return e end
  held_by = redis.call('GET', KEYS[7])
end
local now = clock()

local function reply(outcome, now_stored, late, recreated, left)
  log_settlement(log, ARGV[15], outcome, 'Complete', 11, r)
  return { outcome, now_stored, late, recreated, now, left, e and encode_entity(e) or '' }
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
  r = { token = token, attempt = 1, died = 0, first = math.floor(now / 1000), print = '', owner = '', retention = tonumber(ARGV[5]),
    version = '', event_state = '', event = '' }
elseif r.state == PARKED or r.hold <= 0 then
  late = 1
end
if retention == 0 then retention = r.retention end
if result_retention > retention then
  if ARGV[7] == '1' then return redis.error_reply(string.format('RESULT_RETENTION %.0f', retention)) end
  result_retention = retention
end

redis.call('ZREM', progress, member)
if r.state == PARKED then redis.call('ZREM', parked, member) end
if ordered then
  free(KEYS[7], held_by, member)
  local event = { version = r.version, id = r.event, state = r.event_state }
  if moves(e, event, token) then
    advance(e, event, '', rules_of(16), now)
    save_entity(KEYS[6], KEYS[8], ARGV[21], e, now, tonumber(ARGV[20]))
  end
end
r.state, r.flags, r.died, r.request, r.completed = state, 0, 0, '', math.floor(now / 1000)
if ARGV[8] == '1' then
  r.flags = HAS_RESULT
  save_result(result_key, ARGV[9], ARGV[10], result_retention)
end
save(record_key, r, 0, retention)
return reply(OK, state, late, recreated, retention)
