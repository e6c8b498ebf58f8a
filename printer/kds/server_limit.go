package kds

import "net/netip"

const (
	// maxConnsPerAddress is how many connections one address on the network may have. All screens
	// of a kitchen may come through one proxy, so it is not small; but one broken or hostile
	// machine must not use up the connections that all the others need.
	maxConnsPerAddress = 128
	// maxStreamsPerPairing is how many streams one paired browser may have. It has one for each
	// page; streams that a wireless network lost count until they are noticed, which takes
	// maxSilence.
	maxStreamsPerPairing = 32
	// maxStreams is how many streams there may be in all. Each costs a goroutine and, while the
	// network stalls, a socket buffer.
	maxStreams = 200
)

// Group says with which others the connections of a caller are counted, and how many these may have together. Those
// from this computer are not counted: a local proxy or kiosk must never be locked out.
func Group(caller netip.Addr) (name string, most int) {
	if caller.IsLoopback() {
		return "", 0
	}
	return addressGroup(caller.String()), maxConnsPerAddress
}
