package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

func (k *checker) venues() {
	if len(k.c.Venues) == 0 {
		k.add("venues", "there are none; name at least one, or every request is refused with 403")
	}
	ids, named := map[string]int{}, map[string]int{}
	for i := range k.c.Venues {
		v := &k.c.Venues[i]
		at := fmt.Sprintf("venues[%d]", i)
		v.ID = strings.ToLower(v.ID)
		if !regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`).MatchString(v.ID) {
			k.add(at+".id", "%s is not a UUID; write it as 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", quote(v.ID))
		} else {
			k.unique(at+".id", "venues", v.ID, i, ids)
		}
		if msg := badName(v.Name); msg != "" {
			k.add(at+".name", "%s", msg)
		} else {
			k.unique(at+".name", "venues", v.Name, i, named)
		}
		k.zone(at+".timezone", v.Timezone)
		for j, d := range v.Devices {
			if msg := badDevice(d); msg != "" {
				k.add(fmt.Sprintf("%s.devices[%d]", at, j), "%s", msg)
			}
		}
	}
}

func (k *checker) zone(at, name string) {
	switch {
	case name == "":
		k.warn(at, "is not set: tickets show UTC")
	case name == "Local":
		k.add(at, `"Local" is not the name of a zone; write it as Australia/Melbourne`)
	default:
		if _, err := time.LoadLocation(name); err != nil {
			k.add(at, "%s is not the name of a zone; write it as Australia/Melbourne", quote(name))
		}
	}
}

// unique notes a name that was there before, in any case: two stations that differ in
// one capital are one to whoever reads them over the noise of a kitchen.
func (k *checker) unique(at, list, name string, i int, seen map[string]int) {
	folded := strings.ToLower(name)
	if first, ok := seen[folded]; ok {
		k.add(at, "%s is taken by %s[%d]", quote(name), list, first)
		return
	}
	seen[folded] = i
}

// badName says why people cannot call something name; empty when they can.
func badName(name string) string {
	switch {
	case name == "":
		return "is missing"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return quote(name) + " holds characters that cannot be printed"
	case strings.TrimSpace(name) != name:
		return quote(name) + " begins or ends with a space"
	case utf8.RuneCountInString(name) > 64:
		return fmt.Sprintf("%s has %d characters; 64 are the most", quote(name), utf8.RuneCountInString(name))
	}
	return ""
}

func badDevice(id string) string {
	switch {
	case strings.TrimSpace(id) == "" || strings.TrimSpace(id) != id:
		return quote(id) + " is blank or begins or ends with a space"
	case len(id) > 200 || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return quote(id) + " is not the id of a device"
	}
	return ""
}

func (k *checker) printers() {
	if len(k.c.Printers) == 0 {
		k.add("printers", "there are none; name at least one")
	}
	named, places := map[string]int{}, map[string]int{}
	for i, p := range k.c.Printers {
		at := fmt.Sprintf("printers[%d]", i)
		if msg := badName(p.Name); msg != "" {
			k.add(at+".name", "%s", msg)
		} else if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]*$`).MatchString(p.Name) {
			k.add(at+".name", "%s: only letters A to Z, digits, spaces and . _ - are possible, a letter or digit first", quote(p.Name))
		} else {
			k.unique(at+".name", "printers", p.Name, i, named)
		}
		if msg := badAddress(p.Address); msg != "" {
			k.add(at+".address", "%s", msg)
		} else if first, ok := places[p.Address]; ok {
			k.warn(at+".address", "is that of printers[%d] too: two lines take turns at one printer", first)
		} else {
			places[p.Address] = i
		}
		if badName(p.Profile) != "" {
			k.add(at+".profile", "%s is not a profile; leave it out for generic-80mm", quote(p.Profile))
		}
		// Zero said is a mistake; zero not said is the profile's.
		if said := k.lines[at+".columns"] != 0; (said || p.Columns != 0) && (p.Columns < 16 || p.Columns > 96) {
			k.add(at+".columns", "%d is not a width; use 48, 42 or 32", p.Columns)
		}
		k.span(at+".expire_after", p.ExpireAfter, time.Minute, 720*time.Hour, "")
		k.oneOf(at+".on_doubt", p.OnDoubt, "reprint", "hold")
		k.span(at+".hold_for", p.HoldFor, 10*time.Second, 24*time.Hour, "")
		k.backup(i, at)
	}
}

// badAddress says why a cannot be where a printer is. What else a scheme needs is for the
// transport to say.
func badAddress(a string) string {
	scheme, rest, ok := strings.Cut(a, "://")
	switch {
	case a == "":
		return "is missing; write it as tcp://192.168.1.50:9100 or file:///dev/usb/lp0"
	case !ok || strings.ContainsFunc(a, unicode.IsControl):
		return quote(a) + " is not an address; write it as tcp://192.168.1.50:9100 or file:///dev/usb/lp0"
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
		return quote(a) + ": serial printers are not possible yet; use tcp:// or file://"
	default:
		return fmt.Sprintf("%s: %s:// is unknown; use tcp:// or file://", quote(a), scheme)
	}
	return ""
}

// backup follows who stands in for printer i: it must exist, and not come back to i.
func (k *checker) backup(i int, at string) {
	p := k.c.Printers[i]
	if p.Backup == "" {
		if p.HoldFor != DefaultPrinter().HoldFor {
			k.warn(at+".hold_for", "has no effect yet, and none without a backup")
		}
		return
	}
	if !k.knowStations() {
		return
	}
	if p.Backup == p.Name {
		k.add(at+".backup", "%s cannot stand in for itself", quote(p.Backup))
		return
	}
	if msg := k.unknownStation(p.Backup); msg != "" {
		k.add(at+".backup", "%s", msg)
		return
	}
	chain := []string{p.Name}
	for next := p.Backup; next != ""; {
		if slices.Contains(chain, next) {
			if next == p.Name {
				k.add(at+".backup", "goes round in a circle: %s → %s", strings.Join(chain, " → "), next)
			}
			return
		}
		chain = append(chain, next)
		j := slices.IndexFunc(k.c.Printers, func(q Printer) bool { return q.Name == next })
		if j < 0 {
			return
		}
		next = k.c.Printers[j].Backup
	}
	k.warn(at+".backup", "has no effect yet: %s waits for %s to come back", p.Name, p.Name)
}

// knowStations is false when the name of a station could not be read: then a name that
// nobody has may be right.
func (k *checker) knowStations() bool {
	return len(k.c.Printers) > 0 && !slices.ContainsFunc(k.c.Printers, func(p Printer) bool { return p.Name == "" })
}

func (k *checker) unknownStation(name string) string {
	var stations []string
	for _, p := range k.c.Printers {
		if p.Name == name {
			return ""
		}
		stations = append(stations, p.Name)
	}
	if s := suggest(name, stations); s != "" {
		return fmt.Sprintf("there is no station %s; did you mean %s?", quote(name), s)
	}
	return fmt.Sprintf("there is no station %s; there is %s", quote(name), enumerate(stations))
}

func enumerate(list []string) string {
	if len(list) > 12 {
		list = append(slices.Clone(list[:12]), "…")
	}
	return strings.Join(list, ", ")
}

// stationNames checks both kinds of fallback.
func (k *checker) stationNames() {
	if k.c.Fallback == "" {
		k.add("fallback", "is missing; name the station that gets what no route takes")
	}
	if !k.knowStations() {
		return
	}
	if msg := k.unknownStation(k.c.Fallback); msg != "" {
		k.add("fallback", "%s", msg)
	}
	for i, v := range k.c.Venues {
		if v.Fallback != "" {
			if msg := k.unknownStation(v.Fallback); msg != "" {
				k.add(fmt.Sprintf("venues[%d].fallback", i), "%s", msg)
			}
		}
	}
}

func (k *checker) routes() {
	takesAll := -1
	for i, r := range k.c.Routes {
		at := fmt.Sprintf("routes[%d]", i)
		if takesAll >= 0 {
			k.warn(at, "is never reached: routes[%d] takes every item", takesAll)
		}
		if r.Venue == "" && strings.TrimSpace(r.When) == "" && !r.Continue && takesAll < 0 && !k.badBelow(at) {
			takesAll = i
		}
		if len(r.To) == 0 {
			k.add(at+".to", "is empty; name at least one station")
		}
		for j, to := range r.To {
			here := fmt.Sprintf("%s.to[%d]", at, j)
			if slices.Index(r.To, to) < j {
				k.add(here, "%s stands twice", quote(to))
			}
			if k.knowStations() {
				if msg := k.unknownStation(to); msg != "" {
					k.add(here, "%s", msg)
				}
			}
		}
		k.routeVenue(at+".venue", r.Venue)
	}
}

func (k *checker) routeVenue(at, name string) {
	if name == "" || k.bad("venues") {
		return
	}
	var venues []string
	for _, v := range k.c.Venues {
		if strings.EqualFold(v.Name, name) || strings.EqualFold(v.ID, name) || v.Name == "" { // one without a name may be it
			return
		}
		venues = append(venues, v.Name)
	}
	if s := suggest(name, venues); s != "" {
		k.add(at, "there is no venue %s; did you mean %s?", quote(name), s)
	} else {
		k.add(at, "there is no venue %s; there is %s", quote(name), enumerate(venues))
	}
}
