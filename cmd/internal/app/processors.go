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

// ballast is never touched.
var ballast []byte

// Ballast lets the garbage collector rest until there are 12 MiB of garbage, unless GOGC or
// GOMEMLIMIT says otherwise. It runs whenever the heap has doubled, and the daemon's is small: on
// a busy evening that was several times a second, and one answer in a hundred waited for it. The
// collector counts the ballast as heap; the system, which gives memory only where it is touched,
// does not. For main functions, before anything else.
func Ballast() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		ballast = make([]byte, 12<<20)
	}
}
