-- get_entity: reads an entity and decides nothing.
--
-- KEYS  1 entity record
-- ARGV  none
-- reply 1 element: entity record, '' for none
-- clock none

local e = load_entity(KEYS[1])
if e.err then return e end
return { encode_entity(e) }
