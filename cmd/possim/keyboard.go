package main

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"ticketrail/printer/virtual"
)

// commands is what help prints. Each fault of a real printer has a command that causes it and one
// that ends it, because what the daemon does after a repair matters as much.
const commands = `  paper out, paper low, refill      paper for N (paper ends after N lines)
  cover open, cover close           jam, jam at cut, unjam
  hot, cool                         error (only a power cycle clears it)
  offline, online                   power off, power on, power cycle
  unplug, plug (the cable)          reset (close all connections)
  refuse, accept (new connections)  status
`

// readCommands executes the commands that are typed, one a line, until the input ends. A wrong
// command prints the list and changes nothing. The state after each command is printed, so that a
// script can wait for it.
func readCommands(p *virtual.Printer, in io.Reader, t *terminal) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(strings.ToLower(lines.Text()))
		if len(words) == 0 {
			continue
		}
		command := strings.Join(words, " ")
		if !execute(p, command, t) {
			t.printf("%q is not a command; use one of\n%s", command, commands)
			continue
		}
		t.printf("%s: %s\n", t.name, p.Conditions())
	}
}

// execute executes one command. It returns false if there is no such command. Commands are in lower
// case, with one space between words.
func execute(p *virtual.Printer, what string, t *terminal) bool {
	set := func(c virtual.Condition, on bool) { p.Set(c, on) }
	switch what {
	case "status":
		t.printf("%s: %d tickets, %d clients, %d problems\n", t.name, p.TicketCount(), p.ClientCount(),
			len(p.Problems()))
	case "help":
		t.printf("%s", commands)
	case "paper out":
		set(virtual.PaperOut, true)
	case "paper low":
		set(virtual.PaperLow, true)
	case "refill":
		p.Refill()
	case "cover open", "open cover":
		set(virtual.CoverOpen, true)
	case "cover close", "cover closed", "close cover":
		set(virtual.CoverOpen, false)
	case "jam":
		set(virtual.CutterJam, true)
	case "jam at cut":
		p.JamAtCut()
	case "unjam":
		set(virtual.CutterJam, false)
	case "hot", "cool":
		set(virtual.Overheated, what == "hot")
	// Only power off and on clears it, as with a real printer.
	case "error":
		set(virtual.Unrecoverable, true)
	case "offline", "online":
		set(virtual.Offline, what == "offline")
	case "power off":
		p.PowerOff()
	case "power on":
		p.PowerOn()
	case "power cycle":
		p.PowerCycle()
	case "unplug", "plug":
		p.Unplug(what == "unplug")
	case "reset":
		p.Reset()
	case "refuse", "accept":
		if err := p.Refuse(what == "refuse"); err != nil {
			t.printf("%v\n", err)
		}
	default:
		// The only command with a value. It makes the paper end in the middle of a ticket.
		n, ok := strings.CutPrefix(what, "paper for ")
		lines, err := strconv.Atoi(n)
		if !ok || err != nil || lines < 0 {
			return false
		}
		p.PaperFor(lines)
	}
	return true
}
