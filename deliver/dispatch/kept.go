package dispatch

// maxKept bounds the deliveries that are remembered; others wait until they are due.
const maxKept = 65_536

// kept holds ids of deliveries, by endpoint. The zero value is empty. It is not safe for
// concurrent use.
type kept struct {
	of map[string]map[string]struct{}
	n  int
}

// add remembers a delivery.
func (k *kept) add(endpointID, id string) {
	if _, ok := k.of[endpointID][id]; ok || k.n >= maxKept {
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

// has reports whether deliveries of an endpoint are remembered.
func (k *kept) has(endpointID string) bool { return len(k.of[endpointID]) > 0 }

// drop forgets a delivery.
func (k *kept) drop(endpointID, id string) {
	ids := k.of[endpointID]
	if _, ok := ids[id]; !ok {
		return
	}
	k.n--
	if delete(ids, id); len(ids) == 0 {
		delete(k.of, endpointID)
	}
}

// take returns the deliveries of an endpoint, and forgets them.
func (k *kept) take(endpointID string) map[string]struct{} {
	ids := k.of[endpointID]
	k.n -= len(ids)
	delete(k.of, endpointID)
	return ids
}
