-- get_entity: reads an entity and decides nothing.
--
-- KEYS  1 entity record
-- ARGV  1 namespace  2 consumer  3 entity
-- reply 1 element: entity record, '' for none
-- clock none

local e = load_entity(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
if e.err then return e end
return { encode_entity(e) }
