-- reconcile_entity: sets an entity to what the source of truth says, and clears
-- its flag and its holes up to there. Never backwards unless told so.
--
-- KEYS  1 entity record  2 index of flagged entities  3 log
-- ARGV  1 packed: member, version, event id, state, retention (ms, 0: for ever),
--       1 if backwards, or to another kind, is allowed, namespace, consumer,
--       entity, actor, reason
-- reply packed: outcome (1 applied, 3 stale), entity record
-- clock Redis

local record_key, flagged, log = KEYS[1], KEYS[2], KEYS[3]
local member, version, event, state, retention, allowed, namespace, consumer, entity, actor, reason =
  unpack('>Bc0Bc0Hc0Bc0I6BBc0Bc0Hc0Bc0Hc0', ARGV[1])
allowed = allowed == 1

local e = load_entity(record_key, namespace, consumer, entity)
if e.err then return e end
local now = clock()

local function reply(outcome, name)
  log_decision(log, {
    rpc = 'ReconcileEntity', outcome = name, namespace = namespace, consumer = consumer, subject = entity, entity = entity,
    version = version, event = event, actor = actor, reason = reason
  })
  local seen = encode_entity(e)
  return pack('>BHc0', outcome, #seen, seen)
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
e.applied, e.request = floor(now / 1000), ''
save_entity(record_key, flagged, member, e, now, retention)
return reply(APPLIED, 'APPLIED')
