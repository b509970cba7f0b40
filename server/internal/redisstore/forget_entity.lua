-- forget_entity: removes what is remembered of an entity. A claim in progress
-- keeps its hold.
--
-- KEYS  1 entity record  2 index of flagged entities  3 log
-- ARGV  1 member  2 namespace  3 consumer  4 entity  5 actor  6 reason
-- reply 1 element: entity record as it was, '' for none
-- clock none

local e = load_entity(KEYS[1], ARGV[2], ARGV[3], ARGV[4])
if e.err then return e end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[1])
log_decision(KEYS[3], 'all', true, {
  rpc = 'ForgetEntity', outcome = e.flags ~= 0 and 'OK' or 'ABSENT', namespace = ARGV[2], consumer = ARGV[3],
  subject = ARGV[4], entity = ARGV[4], version = e.version, event = e.event, actor = ARGV[5], reason = ARGV[6]
})
return { encode_entity(e) }
