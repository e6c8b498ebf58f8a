package board

import "time"

// unixMillis is a time as pages get it; 0 is none.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
