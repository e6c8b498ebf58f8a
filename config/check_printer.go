package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

func (k *checker) printers() {
	if len(k.c.Stations()) == 0 {
		k.add("printers", "there are none; name at least one")
	}
	devices := map[string]int{} // by Device
	for i := range k.c.Printers {
		p := &k.c.Printers[i]
		at := fmt.Sprintf("printers[%d]", i)
		k.stationName(at, p.Name)
		if msg := badAddress(p.Address); msg != "" {
			k.add(at+".address", "%s", msg)
		} else if first, ok := devices[p.Device()]; ok {
			k.warn(at+".address", "is that of printers[%d] too: two lines take turns at one printer", first)
			k.oneDevice(at, p, first)
		} else {
			devices[p.Device()] = i
		}
		if badName(p.Profile) != "" {
			k.add(at+".profile", "%s is not a profile; leave it out for generic-80mm", quote(p.Profile))
		}
		// Zero said is a mistake; zero not said is the profile's.
		if said := k.lines[at+".columns"] != 0; (said || p.Columns != 0) && (p.Columns < 16 || p.Columns > 96) {
			k.add(at+".columns", "%d is not a width; use 48, 42 or 32", p.Columns)
		}
		k.device(at, p)
		k.ticketsOf(at, p)
		k.span(at+".expire_after", p.ExpireAfter, time.Minute, 720*time.Hour, "")
		k.oneOf(at+".on_doubt", p.OnDoubt, "reprint", "hold")
		k.span(at+".hold_for", p.HoldFor, 10*time.Second, 24*time.Hour, "")
		if p.Backup == "" && p.HoldFor != DefaultPrinter().HoldFor {
			k.warn(at+".hold_for", "has no effect without a backup")
		}
		k.backup(at, p.Name, p.Backup)
	}
}

// device checks how a printer is talked to.
func (k *checker) device(at string, p *Printer) {
	if said := k.lines[at+".confirm"] != 0; said || p.Confirm != "" {
		k.oneOf(at+".confirm", p.Confirm, "auto", "process_id", "status", "none")
	}
	k.span(at+".linger", p.Linger, 0, 30*time.Second, "; tills that print there too wait that long")
	if p.PollEvery != 0 {
		k.span(at+".poll_every", p.PollEvery, 10*time.Second, 24*time.Hour, "; 0s is never")
	}
	k.span(at+".wait_for_person", p.WaitForPerson, time.Second, 24*time.Hour, "")
}

// oneDevice refuses two ways to talk to one printer: it has one connection.
func (k *checker) oneDevice(at string, p *Printer, first int) {
	q := &k.c.Printers[first]
	for _, x := range []struct {
		key       string
		mine, his any
	}{
		{"confirm", p.Confirm, q.Confirm}, {"linger", p.Linger, q.Linger},
		{"poll_every", p.PollEvery, q.PollEvery}, {"wait_for_person", p.WaitForPerson, q.WaitForPerson},
		{"address", p.line(), q.line()},
	} {
		if x.mine != x.his {
			k.add(at+"."+x.key, "is %s, and %s in printers[%d], which is the same printer; say the same in both", told(x.mine), told(x.his), first)
		}
	}
}

func told(v any) string {
	if d, ok := v.(time.Duration); ok {
		return short(d)
	}
	if v == "" {
		return "the profile's"
	}
	return fmt.Sprint(v)
}

// ticketsOf checks how its tickets look and sound.
func (k *checker) ticketsOf(at string, p *Printer) {
	k.count(at+".copies", p.Copies, 1, 9)
	k.count(at+".buzzer.times", p.Buzzer.Times, 0, 9)
	k.count(at+".buzzer.void_times", p.Buzzer.VoidTimes, 0, 9)
	l, at := &p.Layout, at+".layout"
	k.count(at+".blank_lines", l.BlankLines, 0, 5)
	if len(l.Header) == 0 {
		k.add(at+".header", "has no fields; leave it out to keep all")
	}
	for i, f := range l.Header {
		here := fmt.Sprintf("%s.header[%d]", at, i)
		k.oneOf(here, f, HeaderFields()...)
		if slices.Index(l.Header, f) < i {
			k.add(here, "%s stands twice", quote(f))
		}
	}
	if l.TemplateFile == "" {
		return
	}
	l.TemplateFile = k.file(at+".template_file", l.TemplateFile)
	text, err := readSmall(l.TemplateFile, maxTemplate)
	if err != nil {
		k.add(at+".template_file", "%v", err)
		return
	}
	l.Template = string(text)
}

// maxTemplate is more than a head and a foot can need.
const maxTemplate = 64 << 10

// line is how a serial line is set.
func (p Printer) line() string {
	if scheme, rest, _ := strings.Cut(p.Address, "://"); strings.EqualFold(scheme, "serial") {
		_, set, _ := strings.Cut(rest, "?")
		return set
	}
	return ""
}

// Device says which printer it is: the same for every way to write its address.
func (p Printer) Device() string {
	scheme, rest, _ := strings.Cut(p.Address, "://")
	switch scheme = strings.ToLower(scheme); scheme {
	case "tcp":
		if u, err := url.Parse("tcp://" + rest); err == nil {
			port := u.Port()
			if port == "" {
				port = "9100"
			}
			return "tcp://" + strings.ToLower(u.Hostname()) + ":" + port
		}
	case "serial":
		name, _, _ := strings.Cut(rest, "?")
		return "file://" + filepath.Clean(name)
	case "file":
		return "file://" + filepath.Clean(rest)
	case "usb":
		return "usb://" + rest
	}
	return p.Address
}

// badAddress says why a cannot be where a printer is. What else a scheme needs is for the
// transport to say.
func badAddress(a string) string {
	scheme, rest, ok := strings.Cut(a, "://")
	switch {
	case a == "":
		return "is missing; write it as tcp://192.168.1.50:9100 or usb://"
	case !ok || strings.ContainsFunc(a, unicode.IsControl):
		return quote(a) + " is not an address; write it as tcp://192.168.1.50:9100 or usb://"
	}
	switch strings.ToLower(scheme) {
	case "tcp":
		if strings.Contains(rest, "@") { // what is before it may be a password
			return "has a user name; write it as tcp://192.168.1.50:9100"
		}
		u, err := url.Parse(a)
		if err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.Hostname() == "" {
			return quote(a) + " is not an address; write it as tcp://192.168.1.50:9100"
		}
		if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
			return quote(a) + " has no port between 1 and 65535; most printers listen on 9100"
		}
	case "file":
		if !filepath.IsAbs(rest) || strings.HasSuffix(rest, "/") {
			return quote(a) + " is not the name of a file; write it with three slashes, as file:///dev/usb/lp0"
		}
	case "serial":
		name, _, _ := strings.Cut(rest, "?")
		if !filepath.IsAbs(name) || strings.HasSuffix(name, "/") {
			return quote(a) + " is not the name of a serial line; write it with three slashes, as serial:///dev/ttyUSB0?baud=19200"
		}
	case "usb": // empty is the only one there is
	default:
		return fmt.Sprintf("%s: %s:// is unknown; use tcp://, usb://, file:// or serial://", quote(a), scheme)
	}
	return ""
}

// backup follows who stands in for a station: it must exist, and not come back to it.
func (k *checker) backup(at, name, backup string) {
	if backup == "" || !k.knowStations() {
		return
	}
	if backup == name {
		k.add(at+".backup", "%s cannot stand in for itself", quote(backup))
		return
	}
	if !k.station(at+".backup", backup) {
		return
	}
	chain := []string{name}
	for next := backup; next != ""; next = k.c.named(next).backup {
		if slices.Contains(chain, next) {
			if next == name {
				k.add(at+".backup", "goes round in a circle: %s → %s", strings.Join(chain, " → "), next)
			}
			return
		}
		chain = append(chain, next)
	}
	if d := k.deviceOf(name); d != "" && d == k.deviceOf(backup) {
		k.warn(at+".backup", "is the same printer under another name: it stands in for nothing")
	}
}

// deviceOf is where a station's printer is; empty for one that is no printer.
func (k *checker) deviceOf(station string) string {
	for _, p := range k.c.Printers {
		if p.Name == station {
			return p.Device()
		}
	}
	return ""
}
