package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"

	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
)

func (k *checker) printers() {
	for i, p := range k.c.Printers {
		at := fmt.Sprintf("printers[%d]", i)
		// An explicit zero is a mistake; without the key, the profile's value is used.
		if k.lines[at+".columns"] != 0 && (p.Columns < 16 || p.Columns > 96) {
			k.add(at+".columns", "%d is not a width; use 48, 42 or 32", p.Columns)
		}
		if k.lines[at+".confirm"] != 0 {
			k.oneOf(at+".confirm", p.Confirm, "auto", "process_id", "status", "none")
		}

		k.model(at, p)
		k.layout(at+".layout", &p.Layout)
		_, err := transport.Open(p.Address) // it does not connect
		k.judged(at+".address", err)
	}

	k.macAddresses()
	k.sharedPrinters()
}

// model checks the profile of a printer and its overrides.
func (k *checker) model(at string, p Printer) {
	known, ok := profile.Lookup(p.Profile)
	if !ok {
		k.add(at+".profile", "%v%s", profile.Unknown(p.Profile), DidYouMean(p.Profile, profile.Names()))
		return
	}
	if _, err := known.Override(p.Override); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			k.judgedKey(at+".override", errors.New(line))
		}
	}
}

// sharedPrinters checks stations that share a printer. The printer has one connection, so their connection settings
// must be equal. To share one is allowed and only a warning: a bar may print its two routes on one roll. To share it by
// mistake sends the tickets of one station to the other end of the kitchen.
func (k *checker) sharedPrinters() {
	firsts, places := map[string]int{}, map[string]string{}
	for i, p := range k.c.Printers {
		at, place := fmt.Sprintf("printers[%d]", i), transport.CanonicalAddress(p.Address)
		places[p.Name] = place
		if place == "file://"+k.c.Storage.Path { // tickets would overwrite the database
			k.add(at+".address", "is also storage.path; a printer cannot print there")
		}
		if first, ok := firsts[place]; ok {
			k.warn(at+".address", "is also the address of printers[%d]: both stations print on one printer", first)
			k.sameConnection(at, p, first)
		} else {
			firsts[place] = i
		}
	}

	for i, p := range k.c.Printers {
		// Such a backup fails together with its station, and the operator believes that the tickets
		// are safe.
		if place, ok := places[p.Backup]; ok && place == places[p.Name] {
			k.warn(fmt.Sprintf("printers[%d].backup", i), "is the same printer under another name, which is no backup")
		}
	}
}

// sameConnection checks a printer that has the address of printers[first].
func (k *checker) sameConnection(at string, p Printer, first int) {
	other := k.c.Printers[first]
	mine, err := p.Model()
	its, err2 := other.Model()
	if err != nil || err2 != nil { // reported already
		return
	}

	same := func(key string, equal bool, mine, its any) {
		if !equal {
			k.add(at+"."+key, "is %v, and %v in printers[%d], which is the same printer; set the same value in both",
				mine, its, first)
		}
	}

	same("confirm", mine.Confirm == its.Confirm, mine.Confirm, its.Confirm)
	same("mac", p.MAC == other.MAC, cmp.Or(p.MAC, "none"), cmp.Or(other.MAC, "none"))
	theirs := reflect.ValueOf(other.Connection)
	for f, v := range fieldsOf(reflect.ValueOf(p.Connection)) {
		same(f.Tag.Get("mapstructure"), v.Equal(theirs.FieldByIndex(f.Index)), v, theirs.FieldByIndex(f.Index))
	}

	mineOpened, _ := transport.Open(p.Address) // a serial port may have other settings
	itsOpened, _ := transport.Open(other.Address)
	same("address", mineOpened == itsOpened, p.Address, other.Address)
}

// macAddresses checks that each printer on the network has an address of its own.
func (k *checker) macAddresses() {
	host := func(p Printer) string {
		host, _, _ := net.SplitHostPort(strings.TrimPrefix(transport.CanonicalAddress(p.Address), "tcp://"))
		return host
	}

	firsts := map[MAC]int{}
	for i, p := range k.c.Printers {
		at := fmt.Sprintf("printers[%d].mac", i)
		switch first, ok := firsts[p.MAC]; {
		case p.MAC == "":
		case !p.Networked():
			k.add(at, "is only for a printer on the network (tcp://); remove it")
		case !ok:
			firsts[p.MAC] = i
		case host(p) != host(k.c.Printers[first]): // a print server has several ports
			k.add(at, "%s is also that of printers[%d], which has another address; every printer has a MAC address of "+
				"its own", p.MAC, first)
		}
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

		k.oneOf(here, f, layout.HeaderFields()...)
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
		k.oneOf(at, field, append(layout.HeaderFields(), "printer", "request", "job")...)
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
