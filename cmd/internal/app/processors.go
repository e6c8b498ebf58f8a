package app

import (
	"os"
	"runtime"
)

// Processors gives the Go scheduler one processor more than there is, unless GOMAXPROCS says
// otherwise. The committer spends its life waiting in fdatasync, and the runtime needs a while
// to notice that a goroutine which sits on a processor is only waiting; on a box with two of
// them that is half of the kitchen standing still. For main functions, before anything else.
func Processors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
}
