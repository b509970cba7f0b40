-- What every script shares: the layout of a claim's record, and the numbers that
-- stand for states, outcomes and settings. Go puts this file before each of them;
-- it is no script of its own.
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
--
-- Arguments come packed into one string, and replies go as one, in the formats of
-- struct.pack: every argument, and every element of a reply, costs Redis and the
-- driver more than all the bytes in it. Redis runs a script's text from its top
-- each time, and each function that it passes is made anew: what most calls do
-- stands before what few need.

local SCHEMA = 1
local HEAD = '>BBBI7I3I6I6Bc0Bc0Bc0'
local DIED = '>I3'
local TAIL = '>I6I3Bc0Bc0Bc0Hc0Hc0Hc0Bc0Bc0Hc0'
local START = '>BBBI7I3I6I6' -- of HEAD

local ABSENT, IN_PROGRESS, RELEASED, COMPLETED, FAILED, PARKED, EXPIRED, FORGOTTEN = 0, 1, 2, 3, 4, 5, 6, 7
local FINAL, STARTED, UNSETTLED, PRIOR_STARTED, HAS_RESULT = 1, 2, 4, 8, 16
local OK, ALREADY_SETTLED, LOST = 1, 2, 3
local APPLIED, SAME_AGAIN, STALE, GAP_BEFORE, TIE, BUSY, DENIED, FUTURE = 1, 2, 3, 4, 5, 6, 7, 8
local LOG_EXCEPTIONS, LOG_ALL = 1, 2 -- 0: off

local floor, pack, unpack = math.floor, struct.pack, struct.unpack

-- clock is the time in us since 1970.
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- keep makes an index live at least as long as a new member of it, and somewhat
-- longer, so that it is rarely told again. left is its PTTL before the member
-- came: an index with a member that never goes (-1) never goes either.
local function keep(index, left, ttl)
  if left == -2 or (left >= 0 and left < ttl) then redis.call('PEXPIRE', index, ttl + floor(ttl / 8)) end
end
