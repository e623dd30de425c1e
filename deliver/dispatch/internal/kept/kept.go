package kept

// most bounds the deliveries that are remembered; others wait until they are due.
const most = 65_536

// Kept holds ids of deliveries, by endpoint. The zero value is empty. It is not safe for
// concurrent use.
type Kept struct {
	of map[string]map[string]struct{}
	n  int
}

// Add remembers a delivery.
func (k *Kept) Add(endpointID, id string) {
	if _, ok := k.of[endpointID][id]; ok || k.n >= most {
		return
	}
	if k.of == nil {
		k.of = map[string]map[string]struct{}{}
	}
	if k.of[endpointID] == nil {
		k.of[endpointID] = map[string]struct{}{}
	}
	k.of[endpointID][id] = struct{}{}
	k.n++
}

// Has reports whether deliveries of an endpoint are remembered.
func (k *Kept) Has(endpointID string) bool { return len(k.of[endpointID]) > 0 }

// Drop forgets a delivery.
func (k *Kept) Drop(endpointID, id string) {
	ids := k.of[endpointID]
	if _, ok := ids[id]; !ok {
		return
	}
	k.n--
	if delete(ids, id); len(ids) == 0 {
		delete(k.of, endpointID)
	}
}

// Take returns the deliveries of an endpoint, and forgets them.
func (k *Kept) Take(endpointID string) map[string]struct{} {
	ids := k.of[endpointID]
	k.n -= len(ids)
	delete(k.of, endpointID)
	return ids
}
