-- How a claim stands in the replies of get_claim and of operators' calls. Go puts
-- this file before those scripts; it is no script of its own.

-- claim_reply is a claim, packed: state, attempt, owner, effect started, token,
-- first claimed (unix ms), now (unix us), hold left (ms), completed (unix ms),
-- record left (ms), reason, fingerprint, result status, result type, result,
-- namespace, consumer, entity, key (these four while the claim is open).
local function claim_reply(r, now, status, kind, body)
  local hold = r.state == IN_PROGRESS and r.hold or 0
  return pack('>BI3Bc0BI7I6I7i8I6I6Hc0Bc0BBc0I4c0Bc0Bc0Hc0Hc0', state_of(r), r.attempt, #r.owner, r.owner, has(r, STARTED) and 1 or 0,
    r.token, r.first, now, hold, r.completed, r.ttl, #r.reason, r.reason, #r.print, r.print, status, #kind, kind, #body, body,
    #r.namespace, r.namespace, #r.consumer, r.consumer, #r.entity, r.entity, #r.key, r.key)
end

-- no_claim is the same where there is none.
local function no_claim(now)
  local none = {
    state = ABSENT, flags = 0, token = 0, attempt = 0, first = 0, completed = 0, owner = '', print = '', reason = '', ttl = 0,
    namespace = '', consumer = '', entity = '', key = ''
  }
  return claim_reply(none, now, 0, '', '')
end
