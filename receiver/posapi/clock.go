package posapi

import "sync"

// clock remembers what the last envelope said about the time.
type clock struct {
	mu      sync.Mutex
	seconds float64 // guarded by mu
	known   bool    // guarded by mu
}

// Drift is by how many seconds the service's clock and ours differ, from the latest list that
// came: the larger of what the service says itself (its sign is not shown in the contract) and
// of what its timestamps say, which is positive when its clock is ahead of ours.
func (v *Venue) Drift() (seconds float64, known bool) {
	v.clock.mu.Lock()
	defer v.clock.mu.Unlock()
	return v.clock.seconds, v.clock.known
}
