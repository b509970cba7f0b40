-- The entity record and the order: how every script that touches an entity reads,
-- judges and writes it. Go puts this file before each of them; it is no script of
-- its own.
--
-- A record is one string, big-endian, schema number first:
--
--   always    schema 1B, flags 1B, applied 6B (unix ms, or 0), version, request:
--             1B length and bytes each; event id: 2B length and bytes; state: 1B
--             length and bytes. A version of epoch 0 and rank 0, which most are,
--             is kept without them: 12 bytes less
--   flagged   reason 1B, flagged 6B (unix ms), namespace, consumer: 1B length
--             and bytes each; entity: 2B length and bytes; missing ranges: 2B
--             length and 16B each, first and last sequence
--
-- A version comes from Go in a form whose bytes order as versions do: epoch 8B,
-- kind 1B, value, rank 4B, and for decimals a last byte that does not count. No
-- version is ever a Lua number: 2^53 and 2^53+1 are one there. Nor are two ever
-- compared with <, which follows the server's locale.
--
-- The claim in progress that works on an entity is a key of its own, the hold,
-- whose life is the lease: the entity is busy while it exists.
--
-- clock: Redis counts the record's and the hold's life. TIME tells a timestamp
-- that lies in the future, and the times that people read.

local ENTITY_SCHEMA = 1
local APPLIED_ONCE, FIRST_SEEN, GAP, TIE_OPEN, TRANSITION, TRUNCATED, PLAIN, HELD = 1, 2, 4, 8, 16, 32, 64, 128
local EPOCH_0, RANK_0 = '\0\0\0\0\0\0\0\0', '\128\0\0\0'
local FLAGGED = GAP + TIE_OPEN + TRANSITION
local ENTITY_HEAD = '>BBI6Bc0Bc0Hc0Bc0'
local ENTITY_TAIL = '>BI6Bc0Bc0Hc0Hc0'
local SEQUENCE, TIMESTAMP, DECIMAL = 1, 2, 3
local MAX_RANGES = 32
local GAP_IGNORE, GAP_HOLD = 0, 1
local ORDER_NAMES = { 'APPLIED', 'DUPLICATE', 'STALE', 'GAP', 'TIE', 'BUSY', 'TRANSITION_DENIED', 'FUTURE' }
local byte, sub = string.byte, string.sub

-- compare_bytes orders the first n bytes of two strings: -1, 0 or 1.
local function compare_bytes(a, b, n)
  for i = 1, n do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y and -1 or 1 end
  end
  return 0
end

local function kind_of(v) return byte(v, 9) end
local function epoch_of(v) return sub(v, 1, 8) end
local function sequence_of(v) return sub(v, 10, 17) end

-- whole_version tells whether a stored version has the form of its kind.
local function whole_version(v)
  local kind = kind_of(v)
  if kind == SEQUENCE then return #v == 21 end
  if kind == TIMESTAMP then return #v == 25 end
  return kind == DECIMAL and #v >= 15 and #v == 15 + byte(v, 10)
end

-- compare_versions orders two versions of one kind.
local function compare_versions(a, b)
  local n = math.min(#a, #b)
  if kind_of(a) == DECIMAL then n = n - 1 end
  return compare_bytes(a, b, n)
end

-- successor and predecessor of a sequence of 8 bytes; they wrap around.
local function successor(s)
  for i = 8, 1, -1 do
    local b = byte(s, i)
    if b < 255 then return sub(s, 1, i - 1) .. string.char(b + 1) .. string.rep('\0', 8 - i) end
  end
  return string.rep('\0', 8)
end

local function predecessor(s)
  for i = 8, 1, -1 do
    local b = byte(s, i)
    if b > 0 then return sub(s, 1, i - 1) .. string.char(b - 1) .. string.rep('\255', 8 - i) end
  end
  return string.rep('\255', 8)
end

-- load_entity reads a record: a table, with flags = 0 if there is none, or an
-- error reply. The names are what a flagged record shows to people; without them
-- the ones that it has.
local function load_entity(key, namespace, consumer, entity)
  local e = {
    flags = 0, applied = 0, version = '', request = '', event = '', state = '', reason = 0, flagged = 0, missing = {},
    namespace = namespace, consumer = consumer, entity = entity
  }
  local v = redis.pcall('GET', key)
  if not v then return e end
  if type(v) == 'table' then return unreadable('entity: wrong type') end
  local ok, schema, at, ranges, known_namespace, known_consumer, known_entity
  ok, schema, e.flags, e.applied, e.version, e.request, e.event, e.state, at = pcall(unpack, ENTITY_HEAD, v)
  if not ok then return unreadable('entity: head') end
  if schema ~= ENTITY_SCHEMA then return unreadable('entity: schema') end
  e.was_flagged = bit.band(e.flags, FLAGGED) ~= 0
  if e.was_flagged then
    ok, e.reason, e.flagged, known_namespace, known_consumer, known_entity, ranges, at = pcall(unpack, ENTITY_TAIL, v, at)
    if not ok or #ranges % 16 ~= 0 then return unreadable('entity: tail') end
    e.namespace, e.consumer, e.entity = namespace or known_namespace, consumer or known_consumer, entity or known_entity
    for i = 1, #ranges, 16 do
      e.missing[#e.missing + 1] = { sub(ranges, i, i + 7), sub(ranges, i + 8, i + 15) }
    end
  end
  if at ~= #v + 1 then return unreadable('entity: length') end
  if bit.band(e.flags, PLAIN) ~= 0 then
    e.flags, e.version = e.flags - PLAIN, EPOCH_0 .. e.version .. RANK_0
  end
  if e.version ~= '' and not whole_version(e.version) then return unreadable('entity: version') end
  return e
end

-- encode_entity is the record as it is stored, and as it stands in replies: ''
-- for an entity that nothing is remembered of.
local function encode_entity(e)
  if e.flags == 0 then return '' end
  local flags, version = e.flags, e.version
  if version ~= '' and kind_of(version) ~= DECIMAL and epoch_of(version) == EPOCH_0 and sub(version, -4) == RANK_0 then
    flags, version = flags + PLAIN, sub(version, 9, -5)
  end
  local v = pack(ENTITY_HEAD, ENTITY_SCHEMA, flags, e.applied, #version, version, #e.request, e.request,
    #e.event, e.event, #e.state, e.state)
  if bit.band(e.flags, FLAGGED) == 0 then return v end
  local ranges = {}
  for i, r in ipairs(e.missing) do ranges[i] = r[1] .. r[2] end
  ranges = table.concat(ranges)
  return v .. pack(ENTITY_TAIL, e.reason, e.flagged, #e.namespace, e.namespace, #e.consumer, e.consumer,
    #e.entity, e.entity, #ranges, ranges)
end

-- keep_longer is the retention that a call which applied nothing gives a record:
-- never less than what it has.
local function keep_longer(key, retention)
  local left = redis.call('PTTL', key)
  if left == -1 or retention == 0 then return 0 end
  return math.max(left, retention)
end

-- save_entity writes a record that lives for retention ms, 0 for ever, and keeps
-- the index of flagged entities with it.
local function save_entity(key, flagged_index, name, e, now, retention)
  if bit.band(e.flags, FLAGGED) ~= 0 then
    track(flagged_index, name, now, retention)
  elseif e.was_flagged then
    redis.call('ZREM', flagged_index, name)
  end
  if retention > 0 then
    redis.call('SET', key, encode_entity(e), 'PX', retention)
  else
    redis.call('SET', key, encode_entity(e))
  end
end

local function flag(e, why, now)
  if bit.band(e.flags, FLAGGED) == 0 then e.reason, e.flagged = why, floor(now / 1000) end
  e.flags = bit.bor(e.flags, why)
end

local function unflag(e, why)
  e.flags = bit.band(e.flags, bit.bnot(why))
  local open = bit.band(e.flags, FLAGGED)
  if open == 0 then e.flagged = 0 end
  if bit.band(open, e.reason) == 0 then e.reason = bit.band(open, -open) end
end

-- set_missing stores what is missing and keeps the gap's flag with it.
local function set_missing(e, list, now)
  if #list > MAX_RANGES then
    e.flags = bit.bor(e.flags, TRUNCATED)
    for i = #list, MAX_RANGES + 1, -1 do list[i] = nil end
  end
  e.missing = list
  if #list > 0 or bit.band(e.flags, TRUNCATED) ~= 0 then flag(e, GAP, now) else unflag(e, GAP) end
end

local function add_range(list, first, last)
  local out, placed = {}, false
  for _, have in ipairs(list) do
    if placed then
      out[#out + 1] = have
    elseif compare_bytes(have[2], first, 8) < 0 and successor(have[2]) ~= first then
      out[#out + 1] = have
    elseif compare_bytes(last, have[1], 8) < 0 and successor(last) ~= have[1] then
      out[#out + 1], out[#out + 2], placed = { first, last }, have, true
    else
      if compare_bytes(have[1], first, 8) < 0 then first = have[1] end
      if compare_bytes(have[2], last, 8) > 0 then last = have[2] end
    end
  end
  if not placed then out[#out + 1] = { first, last } end
  return out
end

-- remove_one gives the list without n, and whether it was there.
local function remove_one(list, n)
  local out, found = {}, false
  for _, r in ipairs(list) do
    if compare_bytes(n, r[1], 8) < 0 or compare_bytes(n, r[2], 8) > 0 then
      out[#out + 1] = r
    else
      found = true
      if n ~= r[1] then out[#out + 1] = { r[1], predecessor(n) } end
      if n ~= r[2] then out[#out + 1] = { successor(n), r[2] } end
    end
  end
  return out, found
end

local function has_watermark(e)
  return e.version ~= '' and bit.band(e.flags, HELD) == 0
end

-- fill closes the hole that a late version leaves, if it is one.
local function fill(e, v, now)
  if kind_of(v) ~= SEQUENCE or epoch_of(v) ~= epoch_of(e.version) then return false end
  local rest, found = remove_one(e.missing, sequence_of(v))
  if found then set_missing(e, rest, now) end
  return found
end

-- hole_before is what is missing between the watermark and v: first and last, or
-- nothing.
local function hole_before(e, v, rules)
  if v == '' or kind_of(v) ~= SEQUENCE or rules.gap == GAP_IGNORE then return nil end
  local seq, next = sequence_of(v), nil
  local same_epoch = e.version ~= '' and epoch_of(e.version) == epoch_of(v)
  if has_watermark(e) then
    if not same_epoch then return nil end
    if seq == sequence_of(e.version) then return nil end
    next = successor(sequence_of(e.version))
  elseif same_epoch and #e.missing > 0 then
    next = e.missing[1][1]
  elseif rules.first ~= '' then
    next = rules.first
  else
    return nil
  end
  if compare_bytes(seq, next, 8) <= 0 then return nil end
  return next, predecessor(seq)
end

-- hold_back remembers what an event that is held back waits for. Without a
-- watermark it is known by its epoch alone; of several epochs the lowest comes
-- first, and its holes are the ones that are kept.
local function hold_back(e, epoch, first, last, now)
  if not has_watermark(e) then
    local order = e.version == '' and -1 or compare_bytes(epoch, epoch_of(e.version), 8)
    if order > 0 then return end
    if order < 0 then
      e.version, e.missing = epoch .. string.char(SEQUENCE) .. string.rep('\0', 8) .. RANK_0, {}
      e.flags = bit.bor(e.flags, HELD)
    end
  end
  set_missing(e, add_range(e.missing, first, last), now)
end

local function kind_mismatch()
  return redis.error_reply('VERSION_KIND_MISMATCH the entity has another kind')
end

local function in_future(v, now, skew)
  local limit = now + skew * 1000
  local seconds = floor(limit / 1000000)
  local instant = pack('>I8I4', seconds, (limit - seconds * 1000000) * 1000)
  return compare_bytes(sub(v, 10, 21), instant, 12) > 0
end

-- judge says whether an event may be applied: an outcome, whether it fills a
-- hole, and how long the entity is busy (ms); or an error reply. It flags the
-- entity and closes holes, in the table only, and never moves the watermark.
-- holder is the claim that asks, '' for none.
local function judge(e, event, rules, hold_key, holder, now)
  local v = event.version
  if e.version ~= '' and v ~= '' and kind_of(e.version) ~= kind_of(v) then return kind_mismatch() end
  if v ~= '' and kind_of(v) == TIMESTAMP and in_future(v, now, rules.skew) then return FUTURE, false, 0 end

  local same_event = event.id ~= '' and event.id == e.event
  if v == '' then
    if bit.band(e.flags, APPLIED_ONCE) ~= 0 and same_event then return SAME_AGAIN, false, 0 end
  elseif has_watermark(e) then
    local c = compare_versions(v, e.version)
    if (c == 0 and (event.id == '' or e.event == '')) or (c <= 0 and same_event) then return SAME_AGAIN, false, 0 end
    if c == 0 then
      flag(e, TIE_OPEN, now)
      return TIE, false, 0
    end
    if c < 0 then return STALE, fill(e, v, now), 0 end
  end

  local held_by = redis.call('GET', hold_key)
  if held_by and held_by ~= holder then
    local left = redis.call('PTTL', hold_key)
    if left > 0 then return BUSY, false, left end
  end
  if rules.before ~= '' and not string.find(rules.before, '\0' .. e.state .. '\0', 1, true) then
    flag(e, TRANSITION, now)
    return DENIED, false, 0
  end
  local first, last = hole_before(e, v, rules)
  if first and rules.gap == GAP_HOLD then
    hold_back(e, epoch_of(v), first, last, now)
    return GAP_BEFORE, false, 0
  end
  return APPLIED, false, 0
end

-- advance applies an event that judge allowed.
local function advance(e, event, request, rules, now)
  local v = event.version
  local first, last = hole_before(e, v, rules)
  local first_seen
  if v ~= '' then
    if e.version ~= '' and epoch_of(e.version) ~= epoch_of(v) then
      e.flags = bit.band(e.flags, bit.bnot(TRUNCATED))
      set_missing(e, {}, now)
    end
    if first then set_missing(e, add_range(e.missing, first, last), now) end
    first_seen = not has_watermark(e)
    e.version, e.flags = v, bit.band(e.flags, bit.bnot(HELD))
    fill(e, v, now)
  else
    first_seen = bit.band(e.flags, APPLIED_ONCE) == 0
  end
  if event.state ~= '' then e.state = event.state end
  if v ~= '' or not has_watermark(e) then e.event = event.id end
  e.flags = bit.bor(bit.band(e.flags, bit.bnot(FIRST_SEEN)), APPLIED_ONCE, first_seen and FIRST_SEEN or 0)
  e.applied, e.request = floor(now / 1000), request
end

-- went_on tells whether the entity has moved since a claim was given: a token is
-- the microsecond in which it was.
local function went_on(e, token)
  return e.applied * 1000 > token
end

-- moves tells whether a finished event moves the entity: it brings a version
-- above the watermark; or it has none, brings a state, and nothing else has moved
-- the entity since the claim was given.
local function moves(e, event, token)
  if event.version == '' then return event.state ~= '' and not went_on(e, token) end
  if e.version == '' then return true end
  if kind_of(e.version) ~= kind_of(event.version) then return false end
  return not has_watermark(e) or compare_versions(event.version, e.version) > 0
end

-- rules_of unpacks how a namespace orders, from the given place on: gap (0 ignore,
-- 1 hold, 2 apply), first sequence (8 bytes, '' for any), allowed skew of a
-- timestamp (ms), states that may come before the event's ('' for all).
local function rules_of(packed, at)
  local gap, first, skew, before = unpack('>BBc0I6I4c0', packed, at)
  return { gap = gap, first = first, skew = skew, before = before }
end

-- free ends a claim's hold on its entity. held_by is what the hold said before the
-- script wrote anything: a hold of a foreign type fails there.
local function free(hold_key, held_by, holder)
  if held_by == holder then redis.call('DEL', hold_key) end
end
