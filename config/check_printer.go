package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (k *checker) printers() {
	if len(k.c.Stations()) == 0 {
		k.add("printers", "there are no stations; configure at least one printer, screen, kds or log")
	}
	for i := range k.c.Printers {
		p := &k.c.Printers[i]
		at := fmt.Sprintf("printers[%d]", i)
		k.stationName(at, p.Name)
		if p.Address == "" {
			k.add(at+".address", "is missing; for example tcp://192.168.1.50:9100 or usb://")
		}
		if nameProblem(p.Profile) != "" {
			k.add(at+".profile", "%s is not a profile name; remove the key to use generic-80mm", quote(p.Profile))
		}
		// An explicit zero is a mistake; without the key, the profile's value is used.
		if said := k.lines[at+".columns"] != 0; (said || p.Columns != 0) && (p.Columns < 16 || p.Columns > 96) {
			k.add(at+".columns", "%d is not a width; use 48, 42 or 32", p.Columns)
		}
		k.device(at, p)
		k.ticketsOf(at, p)
		k.checkDuration(at+".expire_after", p.ExpireAfter, time.Minute, 720*time.Hour, "")
		k.oneOf(at+".on_doubt", p.OnDoubt, "reprint", "hold")
		k.checkDuration(at+".hold_for", p.HoldFor, 10*time.Second, 24*time.Hour, "")
		if p.Backup == "" && p.HoldFor != DefaultPrinter().HoldFor {
			k.warn(at+".hold_for", "has no effect without a backup")
		}
		k.backup(at, p.Name, p.Backup)
	}
}

// device checks how the printer is reached and asked for its status.
func (k *checker) device(at string, p *Printer) {
	if said := k.lines[at+".confirm"] != 0; said || p.Confirm != "" {
		k.oneOf(at+".confirm", p.Confirm, "auto", "process_id", "status", "none")
	}
	k.checkDuration(at+".connect_timeout", p.ConnectTimeout, time.Second, time.Minute, "")
	k.checkDuration(at+".linger", p.Linger, 0, 30*time.Second, "; other clients of the printer wait that long")
	if p.PollEvery != 0 {
		k.checkDuration(at+".poll_every", p.PollEvery, 10*time.Second, 24*time.Hour, "; 0s turns polling off")
	}
	k.checkDuration(at+".wait_for_person", p.WaitForPerson, time.Second, 24*time.Hour, "")
}

// ticketsOf checks how tickets look and sound.
func (k *checker) ticketsOf(at string, p *Printer) {
	k.checkCount(at+".copies", p.Copies, 1, 9)
	k.checkCount(at+".buzzer.times", p.Buzzer.Times, 0, 9)
	k.checkCount(at+".buzzer.void_times", p.Buzzer.VoidTimes, 0, 9)
	l, at := &p.Layout, at+".layout"
	k.checkCount(at+".blank_lines", l.BlankLines, 0, 5)
	k.checkCount(at+".top_margin", l.TopMargin, 0, 20)
	if len(l.Header) == 0 {
		k.add(at+".header", "has no fields; remove the key to print all")
	}
	for i, f := range l.Header {
		here := fmt.Sprintf("%s.header[%d]", at, i)
		if strings.Contains(f, "{") {
			k.ownLine(here, f)
			continue
		}
		k.oneOf(here, f, HeaderFields()...)
		if slices.Index(l.Header, f) < i {
			k.add(here, "%s is listed twice", quote(f))
		}
	}
	for i, line := range l.Footer {
		k.ownLine(fmt.Sprintf("%s.footer[%d]", at, i), line)
	}
}

// ownLine checks the words in braces in a line of text for tickets.
func (k *checker) ownLine(at, line string) {
	for _, rest := range strings.Split(line, "{")[1:] {
		field, _, closed := strings.Cut(rest, "}")
		if !closed {
			k.add(at, "a { has no }; write a field as {table}")
			continue
		}
		k.oneOf(at, field, append(HeaderFields(), "printer", "request", "job")...)
	}
}

// backup checks that a station's backup exists and that the chain of backups does not lead back to
// the station: a ticket would be passed on forever.
func (k *checker) backup(at, name, backup string) {
	if backup == "" || !k.stationNamesKnown() {
		return
	}
	if backup == name {
		k.add(at+".backup", "%s cannot be its own backup", quote(backup))
		return
	}
	if !k.station(at+".backup", backup) {
		return
	}
	chain := []string{name}
	for next := backup; next != ""; next = k.c.stationNamed(next).backup {
		if slices.Contains(chain, next) {
			if next == name {
				k.add(at+".backup", "forms a loop: %s → %s", strings.Join(chain, " → "), next)
			}
			return
		}
		chain = append(chain, next)
	}
}
