-- total_field names the total of a source. The owner is escaped.
local function total_field(kind, owner, source) return to_field(kind) .. owner .. source end
