package config

import (
	"fmt"
	"slices"
	"strings"
)

func (k *checker) printers() {
	for i := range k.c.Printers {
		p := &k.c.Printers[i]
		at := fmt.Sprintf("printers[%d]", i)
		// An explicit zero is a mistake; without the key, the profile's value is used.
		if said := k.lines[at+".columns"] != 0; (said || p.Columns != 0) && (p.Columns < 16 || p.Columns > 96) {
			k.add(at+".columns", "%d is not a width; use 48, 42 or 32", p.Columns)
		}
		if said := k.lines[at+".confirm"] != 0; said || p.Confirm != "" {
			k.oneOf(at+".confirm", p.Confirm, "auto", "process_id", "status", "none")
		}
		k.layout(at+".layout", &p.Layout)
	}
}

// layout checks how tickets look.
func (k *checker) layout(at string, l *Layout) {
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
