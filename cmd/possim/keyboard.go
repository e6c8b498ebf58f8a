package main

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"ticketrail/printer/virtual"
)

const keys = `  paper out, paper low, refill      paper for N (lines, then it is out)
  cover open, cover close           jam, jam at cut, unjam
  hot, cool                         error (only switching off cures it)
  offline, online                   power off, power on, power cycle
  unplug, plug (the cable)          reset (all connections)
  refuse, accept (new clients)      status
`

// obey does what is typed until there is nothing more to read.
func obey(p *virtual.Printer, in io.Reader, s *show) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(strings.ToLower(lines.Text()))
		if len(words) == 0 {
			continue
		}
		if !happen(p, strings.Join(words, " "), s) {
			s.printf("%q is nothing that happens to a printer; there is\n%s", strings.Join(words, " "), keys)
			continue
		}
		s.printf("%s: %s\n", s.name, p.Conditions())
	}
}

// happen does one thing and says whether it knew it.
func happen(p *virtual.Printer, what string, s *show) bool {
	set := func(c virtual.Condition, on bool) { p.Set(c, on) }
	switch what {
	case "status":
		s.printf("%s: %d tickets, %d clients, %d problems\n", s.name, p.TicketCount(), p.ClientCount(), len(p.Problems()))
	case "help":
		s.printf("%s", keys)
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
			s.printf("%v\n", err)
		}
	default:
		n, ok := strings.CutPrefix(what, "paper for ")
		lines, err := strconv.Atoi(n)
		if !ok || err != nil || lines < 0 {
			return false
		}
		p.PaperFor(lines)
	}
	return true
}
