-- The claim record: how every script that touches a claim reads and writes it, in
-- the layout of constants.lua. Go puts this file before each of them; it is no
-- script of its own.

local FUTURE_TOKEN = 3600 * 1000000 -- us ahead of the clock; none was ever given out
local MOST_ATTEMPTS = 16777215 -- counting stops there

local function unreadable(what)
  return redis.error_reply('RECORD_UNREADABLE ' .. what)
end

-- load reads a record: a table, nil if there is none, or an error reply. v is what
-- GET said of it, for who has asked.
local function load(key, v)
  v = v or redis.pcall('GET', key)
  if not v then return nil end
  if type(v) == 'table' then return unreadable('wrong type') end
  local ok, schema, state, flags, token, attempt, first, completed, owner, print, request, at = pcall(unpack, HEAD, v)
  if not ok then return unreadable('head') end
  if schema ~= SCHEMA then return unreadable('schema') end
  local open = state == IN_PROGRESS or state == RELEASED or state == PARKED
  local died, retention, base, previous, namespace, consumer, reason, entity, subject, version, event_state, event =
    0, 0, 0, '', '', '', '', '', '', '', '', ''
  if open or bit.band(flags, FINAL) ~= 0 then
    ok, died, at = pcall(unpack, DIED, v, at)
    if not ok then return unreadable('died') end
  end
  if open then
    ok, retention, base, previous, namespace, consumer, reason, entity, subject, version, event_state, event, at =
      pcall(unpack, TAIL, v, at)
    if not ok then return unreadable('tail') end
  elseif state ~= COMPLETED and state ~= FAILED and state ~= FORGOTTEN then
    return unreadable('state')
  end
  if at ~= #v + 1 then return unreadable('length') end
  local ttl = redis.call('PTTL', key)
  if ttl < 0 then return unreadable('no expiry') end
  return {
    state = state, flags = flags, token = token, attempt = attempt, died = died, first = first, completed = completed,
    owner = owner, print = print, request = request, retention = retention, base = base, previous = previous,
    namespace = namespace, consumer = consumer, reason = reason, entity = entity, key = subject, version = version,
    event_state = event_state, event = event, ttl = ttl, hold = open and ttl - retention or 0
  }
end

-- save writes a record that lives for hold + retention milliseconds.
local function save(key, r, hold, retention)
  r.hold, r.retention, r.ttl = hold, retention, hold + retention
  local v = pack(HEAD, SCHEMA, r.state, r.flags, r.token, r.attempt, r.first, r.completed,
    #r.owner, r.owner, #r.print, r.print, #r.request, r.request)
  local open = r.state == IN_PROGRESS or r.state == RELEASED or r.state == PARKED
  if open or bit.band(r.flags, FINAL) ~= 0 then v = v .. pack(DIED, r.died) end
  if open then
    v = v .. pack(TAIL, retention, r.base, #r.previous, r.previous, #r.namespace, r.namespace,
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
  local ms, left = floor(now / 1000), redis.call('PTTL', index)
  redis.call('ZADD', index, ttl > 0 and ms + ttl or '+inf', member)
  if ttl == 0 then redis.call('PERSIST', index) else keep(index, left, ttl) end
  if now % 16 == 0 then redis.call('ZREMRANGEBYSCORE', index, '-inf', ms - 1) end
end

-- result_of reads the stored result of a record.
-- status: 0 none was stored, 1 here it is, 2 it has run out; nil: unreadable.
local function result_of(r, key)
  if not r or not has(r, HAS_RESULT) then return 0, '', '' end
  local v = redis.pcall('GET', key)
  if not v then return 2, '', '' end
  if type(v) == 'table' then return nil end
  local ok, schema, kind, body, at = pcall(unpack, '>BBc0I4c0', v)
  if not ok or schema ~= SCHEMA or at ~= #v + 1 then return nil end
  return 1, kind, body
end

local function save_result(key, kind, body, retention)
  redis.call('SET', key, pack('>BBc0I4c0', SCHEMA, #kind, kind, #body, body), 'PX', retention)
end
