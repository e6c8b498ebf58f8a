// Command ticketrail is the daemon that brings a restaurant's orders out of its kitchen
// printers, and the command line to look after it.
//
// "ticketrail serve" is the daemon. The other commands either read files (check,
// inspect) or ask the running daemon over its unix socket, for the daemon alone holds the
// database (jobs, printers, rejects). One file here is one command; what they have in
// common is in cli.go (exit codes, errors), daemon.go (asking the daemon) and show.go (tables,
// JSON, text made safe for a terminal). Nothing is decided here that a test of the
// packages behind could not see.
package main

import "os"

func main() {
	c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(c.run(background(), os.Args[1:]))
}
