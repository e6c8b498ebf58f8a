// Command ticketrail is the daemon that prints a restaurant's orders in its kitchen, and the
// command line that operators use to look after it.
//
// "ticketrail serve" is the daemon. Of the other commands, jobs, printers, screens and rejects ask the
// running daemon over its unix socket, because only one process can open the database. check and
// inspect read files; check --online also asks the printers and displays. venues and labor ask the
// point-of-sale API. db backup asks the daemon too; the other db commands work on the
// file while it is stopped. Each group of commands has its files. Shared code is in cli.go
// (exit codes, errors), client.go (requests to the daemon) and show.go (tables, JSON, text that is
// safe to show on a terminal). Decisions are made in the packages below, where tests can reach
// them without a process.
package main

import "os"

func main() {
	c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(c.run(signalContext(), os.Args[1:]))
}
