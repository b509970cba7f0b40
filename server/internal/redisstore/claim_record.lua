-- The claim record: how every script that touches a claim reads and writes it.
-- Go puts this file before each of them; it is no script of its own.
--
-- A record is one string, big-endian, schema number first:
--
--   every state    schema 1B, state 1B, flags 1B, token 7B, attempt 3B, first
--                  claimed 6B (unix ms), completed 6B (unix ms, or 0); owner,
--                  fingerprint, request: 1B length and bytes each
--   final claim    last attempt whose lease ran out 3B (0: none)
--   while open     the same 3B; retention 6B (ms), attempts that do not count 3B;
--   (in progress,  previous owner, namespace, consumer: 1B length and bytes each;
--   released,      reason, entity, key: 2B length and bytes each; version and
--   parked)        state of an ordered claim's event: 1B, its id: 2B length and
--                  bytes
--   forgotten      nothing more: a tombstone that keeps the token
--
-- so that a finished claim without owner and fingerprint is 28 bytes, the most
-- that Redis keeps in an allocation of 48: one more would cost 16. Its result
-- lives in a key of its own: schema 1B, type (1B length), result (4B length).
--
-- clock: a record's PTTL is what is left of its lease plus its retention, so the
-- lease lives while PTTL > retention. Redis counts it; no other clock is asked.
-- TIME serves the fencing tokens and the times that people read.

local SCHEMA = 1
local IN_PROGRESS, RELEASED, COMPLETED, FAILED, PARKED, EXPIRED, FORGOTTEN = 1, 2, 3, 4, 5, 6, 7
local ABSENT = 0
local FINAL, STARTED, UNSETTLED, PRIOR_STARTED, HAS_RESULT = 1, 2, 4, 8, 16
local FUTURE_TOKEN = 3600 * 1000000 -- us ahead of the clock; none was ever given out
local MOST_ATTEMPTS = 16777215 -- counting stops there
local HEAD = '>BBBI7I3I6I6Bc0Bc0Bc0'
local DIED = '>I3'
local TAIL = '>I6I3Bc0Bc0Bc0Hc0Hc0Hc0Bc0Bc0Hc0'

local function unreadable(what)
  return redis.error_reply('RECORD_UNREADABLE ' .. what)
end

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- load reads a record: a table, nil if there is none, or an error reply.
local function load(key)
  local v = redis.pcall('GET', key)
  if not v then return nil end
  if type(v) == 'table' then return unreadable('wrong type') end
  local ok, schema, state, flags, token, attempt, first, completed, owner, print, request, at =
    pcall(struct.unpack, HEAD, v)
  if not ok then return unreadable('head') end
  if schema ~= SCHEMA then return unreadable('schema') end
  local r = {
    state = state, flags = flags, token = token, attempt = attempt, died = 0, first = first, completed = completed,
    owner = owner, print = print, request = request, ttl = redis.call('PTTL', key)
  }
  local open = state == IN_PROGRESS or state == RELEASED or state == PARKED
  if open or bit.band(flags, FINAL) ~= 0 then
    ok, r.died, at = pcall(struct.unpack, DIED, v, at)
    if not ok then return unreadable('died') end
  end
  if open then
    ok, r.retention, r.base, r.previous, r.namespace, r.consumer, r.reason, r.entity, r.key, r.version, r.event_state, r.event, at =
      pcall(struct.unpack, TAIL, v, at)
    if not ok then return unreadable('tail') end
    r.hold = r.ttl - r.retention
  elseif state == COMPLETED or state == FAILED or state == FORGOTTEN then
    r.retention, r.base, r.hold = 0, 0, 0
    r.previous, r.namespace, r.consumer, r.reason, r.entity, r.key = '', '', '', '', '', ''
    r.version, r.event_state, r.event = '', '', ''
  else
    return unreadable('state')
  end
  if at ~= #v + 1 then return unreadable('length') end
  if r.ttl < 0 then return unreadable('no expiry') end
  return r
end

-- save writes a record that lives for hold + retention milliseconds.
local function save(key, r, hold, retention)
  r.hold, r.retention, r.ttl = hold, retention, hold + retention
  local v = struct.pack(HEAD, SCHEMA, r.state, r.flags, r.token, r.attempt, r.first, r.completed,
    #r.owner, r.owner, #r.print, r.print, #r.request, r.request)
  local open = r.state == IN_PROGRESS or r.state == RELEASED or r.state == PARKED
  if open or bit.band(r.flags, FINAL) ~= 0 then v = v .. struct.pack(DIED, r.died) end
  if open then
    v = v .. struct.pack(TAIL, retention, r.base, #r.previous, r.previous, #r.namespace, r.namespace,
      #r.consumer, r.consumer, #r.reason, r.reason, #r.entity, r.entity, #r.key, r.key,
      #r.version, r.version, #r.event_state, r.event_state, #r.event, r.event)
  end
  redis.call('SET', key, v, 'PX', r.ttl)
end

local function has(r, flag)
  return bit.band(r.flags, flag) ~= 0
end

local function state_of(r)
  if not r or r.state == FORGOTTEN then return ABSENT end
  if r.state == IN_PROGRESS and r.hold <= 0 then return EXPIRED end
  return r.state
end

-- next_token is larger than every earlier token of the key; the clock is there
-- for those that were lost with their record.
local function next_token(last, now)
  return math.max(last + 1, now)
end

-- track puts a record into an index, scored by the time in ms at which the
-- record itself goes (ttl 0: never), and keeps the index as long as its longest
-- member. One call in sixteen drops the members whose records are gone. It fails
-- before it writes if the index is of a foreign type; a script that writes
-- elsewhere first, or to a second index as well, asks for its ZCARD before that,
-- so that an error leaves nothing behind.
local function track(index, member, now, ttl)
  local ms, left = math.floor(now / 1000), redis.call('PTTL', index)
  redis.call('ZADD', index, ttl > 0 and ms + ttl or '+inf', member)
  if ttl == 0 then
    redis.call('PERSIST', index)
  elseif left == -2 or (left >= 0 and left < ttl) then
    redis.call('PEXPIRE', index, ttl)
  end
  if now % 16 == 0 then redis.call('ZREMRANGEBYSCORE', index, '-inf', ms - 1) end
end

-- result_of reads the stored result of a record.
-- status: 0 none was stored, 1 here it is, 2 it has run out.
local function result_of(r, key)
  if not r or not has(r, HAS_RESULT) then return 0, '', '' end
  local v = redis.pcall('GET', key)
  if not v then return 2, '', '' end
  if type(v) == 'table' then return nil end
  local ok, schema, kind, body, at = pcall(struct.unpack, '>BBc0I4c0', v)
  if not ok or schema ~= SCHEMA or at ~= #v + 1 then return nil end
  return 1, kind, body
end

local function save_result(key, kind, body, retention)
  redis.call('SET', key, struct.pack('>BBc0I4c0', SCHEMA, #kind, kind, #body, body), 'PX', retention)
end

-- claim_reply is a claim as get_claim replies it.
local function claim_reply(r, now, status, kind, body)
  local hold = r.state == IN_PROGRESS and r.hold or 0
  return { state_of(r), r.attempt, r.owner, has(r, STARTED) and 1 or 0, r.token, r.first, now, hold, r.completed,
    r.ttl, r.reason, r.print, status, kind, body, r.namespace or '', r.consumer or '', r.entity or '', r.key or '' }
end

-- log_settlement writes down how Complete, Release or ExtendLease ended; subject
-- is the place in ARGV of namespace, consumer, entity and key.
local OK, ALREADY_SETTLED, LOST = 1, 2, 3
local SETTLE_NAMES = { 'OK', 'ALREADY_SETTLED', 'LOST' }
local function log_settlement(log, audit, outcome, rpc, subject, r, reason)
  log_decision(log, audit, outcome == OK, {
    rpc = rpc, outcome = SETTLE_NAMES[outcome], namespace = ARGV[subject], consumer = ARGV[subject + 1],
    subject = ARGV[subject + 3], entity = ARGV[subject + 2], attempt = r and r.attempt, owner = r and r.owner, reason = reason
  })
end
