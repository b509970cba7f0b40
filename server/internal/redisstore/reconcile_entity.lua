-- reconcile_entity: sets an entity to what the source of truth says, and clears
-- its flag and its holes up to there. Never backwards unless told so.
--
-- KEYS  1 entity record  2 index of flagged entities  3 log
-- ARGV  1 member  2 version  3 event id  4 state  5 retention, ms (0: for ever)
--       6 '1': backwards, or to another kind, is allowed
--       7 namespace  8 consumer  9 entity  10 actor  11 reason
-- reply 2 elements: outcome (1 applied, 3 stale), entity record
-- clock Redis

local record_key, flagged, log = KEYS[1], KEYS[2], KEYS[3]
local version, event, state, retention, allowed = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
local namespace, consumer, entity = ARGV[7], ARGV[8], ARGV[9]

local e = load_entity(record_key, namespace, consumer, entity)
if e.err then return e end
local now = clock()

local function reply(outcome, name)
  log_decision(log, 'all', true, {
    rpc = 'ReconcileEntity', outcome = name, namespace = namespace, consumer = consumer, subject = entity, entity = entity,
    version = version, event = event, actor = ARGV[10], reason = ARGV[11]
  })
  return { outcome, encode_entity(e) }
end

local backwards = false
if version ~= '' and e.version ~= '' then
  local other_kind = kind_of(version) ~= kind_of(e.version)
  if other_kind and not allowed then return kind_mismatch() end
  backwards = other_kind or (has_watermark(e) and compare_versions(version, e.version) < 0)
end
if backwards and not allowed then return reply(STALE, 'STALE') end

if version ~= '' or not has_watermark(e) then e.event = event end
local held = bit.band(e.flags, HELD)
if version ~= '' then
  local left = {}
  if not backwards and kind_of(version) == SEQUENCE and e.version ~= '' and epoch_of(version) == epoch_of(e.version) then
    local seq = sequence_of(version)
    for _, r in ipairs(e.missing) do
      if compare_bytes(r[2], seq, 8) > 0 then
        left[#left + 1] = { compare_bytes(r[1], seq, 8) > 0 and r[1] or successor(seq), r[2] }
      end
    end
  end
  e.missing, e.version, held = left, version, 0
end
local since = e.flagged
e.flags, e.reason, e.flagged = APPLIED_ONCE + held, 0, 0
if #e.missing > 0 then e.flags, e.reason, e.flagged = e.flags + GAP, GAP, since end
if state ~= '' then e.state = state end
e.applied, e.request = math.floor(now / 1000), ''
save_entity(record_key, flagged, ARGV[1], e, now, retention)
return reply(APPLIED, 'APPLIED')
