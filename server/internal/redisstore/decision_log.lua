-- The decision log: how every script writes down what it decided. Go puts this
-- file before each of them; it is no script of its own.
--
-- Each partition has one stream of about the last 1000 decisions, kept for a
-- week after the newest. Writing to it never fails a decision: it comes last, and
-- its own errors are dropped.

local LOG_LENGTH, LOG_KEPT = 1000, 7 * 24 * 3600 * 1000

-- logs tells whether a decision is written down: all are, only those that are not
-- normal, or none. Normal are CLAIMED, DUPLICATE, APPLIED and OK.
local function logs(audit, normal)
  return audit == LOG_ALL or (audit == LOG_EXCEPTIONS and not normal)
end

local function log_decision(log, d)
  local written = redis.pcall('XADD', log, 'MAXLEN', '~', LOG_LENGTH, '*', 'rpc', d.rpc, 'outcome', d.outcome,
    'namespace', d.namespace, 'consumer', d.consumer, 'subject', d.subject, 'entity', d.entity or '',
    'version', d.version or '', 'event', d.event or '', 'attempt', d.attempt or 0, 'owner', d.owner or '',
    'actor', d.actor or '', 'reason', d.reason or '')
  if type(written) == 'string' then redis.pcall('PEXPIRE', log, LOG_KEPT) end
end
