-- How Complete, Release and ExtendLease log what they decided. Go puts this file
-- before those scripts; it is no script of its own.

local function log_settlement(log, outcome, rpc, namespace, consumer, entity, key, r, reason)
  log_decision(log, {
    rpc = rpc, outcome = ({ 'OK', 'ALREADY_SETTLED', 'LOST' })[outcome], namespace = namespace, consumer = consumer,
    subject = key, entity = entity, attempt = r and r.attempt, owner = r and r.owner, reason = reason
  })
end
