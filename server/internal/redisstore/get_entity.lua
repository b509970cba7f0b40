-- get_entity: reads an entity and decides nothing.
--
-- KEYS  1 entity record
-- ARGV  none
-- reply packed: entity record, '' for none
-- clock none

local e = load_entity(KEYS[1])
if e.err then return e end
local seen = encode_entity(e)
return pack('>Hc0', #seen, seen)
