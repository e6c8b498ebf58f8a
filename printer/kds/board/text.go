package board

import "time"

// clockText is the time of day in the kitchen's zone. Without a known zone it is UTC, and says so:
// a wrong time that looks right would be worse.
func clockText(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	// "Local" would be the zone of this program, which says nothing about the kitchen.
	if zone != "" && zone != "UTC" && zone != "Local" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return t.In(loc).Format("15:04")
		}
	}
	return t.UTC().Format("15:04 UTC")
}

// unixMillis is a time as pages get it; 0 is none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
