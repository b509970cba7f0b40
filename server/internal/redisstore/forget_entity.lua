-- forget_entity: removes what is remembered of an entity. A claim in progress
-- keeps its hold.
--
-- KEYS  1 entity record  2 index of flagged entities  3 log
-- ARGV  1 packed: member, namespace, consumer, entity, actor, reason
-- reply packed: entity record as it was, '' for none
-- clock none

local member, namespace, consumer, entity, actor, reason = unpack('>Bc0Bc0Bc0Hc0Bc0Hc0', ARGV[1])
local e = load_entity(KEYS[1], namespace, consumer, entity)
if e.err then return e end
redis.call('ZREM', KEYS[2], member)
redis.call('DEL', KEYS[1])
log_decision(KEYS[3], {
  rpc = 'ForgetEntity', outcome = e.flags ~= 0 and 'OK' or 'ABSENT', namespace = namespace, consumer = consumer,
  subject = entity, entity = entity, version = e.version, event = e.event, actor = actor, reason = reason
})
local was = encode_entity(e)
return pack('>Hc0', #was, was)
