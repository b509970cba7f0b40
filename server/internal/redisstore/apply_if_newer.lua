-- apply_if_newer: compares an event's version with its entity's watermark, and
-- moves the watermark if it is newer.
--
-- KEYS  1 entity record  2 hold of a claim  3 index of flagged entities  4 log
-- ARGV  1 packed: member (the record's name in the index), request (hash of the
--       attempt's identity), version, event id, state, retention (ms, 0: for
--       ever), namespace, consumer, entity, audit, and the rules, as in rules_of
-- reply packed: outcome, previous version, first seen, reentrant, fills a hole,
--       busy for (ms), entity record
--       outcome: 1 applied 2 duplicate 3 stale 4 gap 5 tie 6 busy 7 transition
--                denied 8 future
-- clock Redis

local record_key, hold_key, flagged, log = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local event = {}
local member, request, retention, namespace, consumer, entity, audit, at
member, request, event.version, event.id, event.state, retention, namespace, consumer, entity, audit, at =
  unpack('>Bc0Bc0Bc0Hc0Bc0I6Bc0Bc0Hc0B', ARGV[1])
local rules = rules_of(ARGV[1], at)

local e = load_entity(record_key, namespace, consumer, entity)
if e.err then return e end
local now = clock()

local function reply(outcome, previous, reentrant, fills, busy)
  if logs(audit, outcome == APPLIED or outcome == SAME_AGAIN) then
    log_decision(log, {
      rpc = 'ApplyIfNewer', outcome = ORDER_NAMES[outcome], namespace = namespace, consumer = consumer,
      subject = entity, entity = entity, version = event.version, event = event.id
    })
  end
  local first = outcome == APPLIED and bit.band(e.flags, FIRST_SEEN) ~= 0
  local seen = encode_entity(e)
  return pack('>BBc0BBBI6Hc0', outcome, #previous, previous, first and 1 or 0, reentrant and 1 or 0, fills and 1 or 0, busy, #seen, seen)
end

local function reenters()
  if bit.band(e.flags, APPLIED_ONCE) == 0 or e.request ~= request then return false end
  if event.version == '' then return e.state == event.state end
  return e.version ~= '' and kind_of(e.version) == kind_of(event.version) and compare_versions(e.version, event.version) == 0
end

if reenters() then
  save_entity(record_key, flagged, member, e, now, retention)
  return reply(APPLIED, '', true, false, 0)
end
local outcome, fills, busy = judge(e, event, rules, hold_key, '', now)
if type(outcome) == 'table' then return outcome end
if outcome == FUTURE or outcome == BUSY then return reply(outcome, '', false, false, busy) end
local previous = ''
if outcome == APPLIED then
  if has_watermark(e) then previous = e.version end
  advance(e, event, request, rules, now)
else
  retention = keep_longer(record_key, retention)
end
save_entity(record_key, flagged, member, e, now, retention)
return reply(outcome, previous, false, fills, 0)
