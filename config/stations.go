package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"ticketrail/receiver/plan"
)

func (k *checker) venues() {
	if len(k.c.Venues) == 0 {
		k.add("venues", "there are no venues; configure at least one, or every request is refused with 403")
	}
	ids, named := map[string]string{}, map[string]string{}
	for i := range k.c.Venues {
		venue := &k.c.Venues[i]
		at := fmt.Sprintf("venues[%d]", i)
		venue.ID = strings.ToLower(venue.ID)
		if len(venue.ID) != 36 || uuid.Validate(venue.ID) != nil {
			k.add(at+".id", "%s is not a UUID; for example 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11", quote(venue.ID))
		} else {
			k.unique(at+".id", at, venue.ID, ids)
		}

		k.name(at, venue.Name, named)

		k.zone(at+".timezone", venue.Timezone)
		for j, d := range venue.Devices {
			k.addIf(fmt.Sprintf("%s.devices[%d]", at, j), textProblem(d, 200))
		}
	}
}

func (k *checker) zone(at, name string) {
	switch {
	case name == "" && k.c.Service.Enabled():
		k.warn(at, "is not set: it is read from the venue's payroll periods; until the service has answered, "+
			"tickets show UTC")
	case name == "":
		k.warn(at, "is not set: tickets show UTC")
	case name == "Local":
		k.add(at, `"Local" is not the name of a time zone; for example Australia/Melbourne`)
	default:
		if _, err := time.LoadLocation(name); err != nil {
			meant := "; for example Australia/Melbourne"
			if zone := zoneOf(name); zone != "" {
				meant = "; did you mean " + zone + "?"
			}
			k.add(at, "%s is not the name of a time zone%s", quote(name), meant)
		}
	}
}

// zoneOf is the time zone of a town, or "": people write Melbourne, or new york.
func zoneOf(town string) string {
	words := strings.FieldsFunc(strings.ToLower(town), func(r rune) bool { return r == ' ' || r == '_' })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}

	for _, region := range []string{"Africa", "America", "America/Argentina", "Asia", "Atlantic", "Australia", "Europe",
		"Indian", "Pacific"} {
		zone := region + "/" + strings.Join(words, "_")
		if _, err := time.LoadLocation(zone); err == nil && len(words) > 0 {
			return zone
		}
	}
	return ""
}

// name checks the name of the element at a place of a list: that it is one, and used once.
func (k *checker) name(at, name string, seen map[string]string) {
	k.addIf(at+".name", nameProblem(name))
	if !k.hasProblem(at + ".name") {
		k.unique(at+".name", at, name, seen)
	}
}

// unique reports a name that is used already, in any case: in a noisy kitchen, two stations that
// differ only in a capital letter have the same name.
func (k *checker) unique(path, at, name string, seen map[string]string) {
	folded := strings.ToLower(name)
	if first, ok := seen[folded]; ok {
		k.add(path, "%s is already used by %s", quote(name), first)
		return
	}
	seen[folded] = at
}

// nameProblem returns why something cannot have this name, or "".
func nameProblem(name string) string { return textProblem(name, 64) }

// textProblem returns why a text of one line, with at most that many characters, is none, or "".
func textProblem(text string, most int) string {
	switch {
	case text == "":
		return "is missing"
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return quote(text) + " contains non-printable characters"
	case strings.TrimSpace(text) != text:
		return quote(text) + " begins or ends with a space"
	case utf8.RuneCountInString(text) > most:
		return fmt.Sprintf("%s has %d characters; at most %d are allowed", quote(text), utf8.RuneCountInString(text),
			most)
	}

	return ""
}

// stationNamesKnown is false if the name of a station could not be read. Then a reference to an
// unknown name may be right, and is not reported.
func (k *checker) stationNamesKnown() bool {
	names := k.c.Stations()
	return len(names) > 0 && !slices.Contains(names, "")
}

// station checks that there is a station of that name to which tickets can be sent.
func (k *checker) station(at, name string) bool {
	stations := k.c.Stations()
	switch {
	case !k.stationNamesKnown() || slices.Contains(stations, name):
		return true
	case slices.ContainsFunc(k.c.Screens, func(s Screen) bool { return s.IsPass() && s.Name == name }):
		k.add(at, "%s is a screen of mode pass, which has no tickets of its own; use one of the screens it shows",
			quote(name))
	default:
		k.add(at, "%s", notFound("station", name, stations))
	}

	return false
}

// notFound says that there is nothing of that name, and suggests a similar name or lists the
// existing ones.
func notFound(what, name string, there []string) string {
	msg := fmt.Sprintf("there is no %s %s", what, quote(name))
	if hint := DidYouMean(name, there); hint != "" || len(there) == 0 {
		return msg + hint
	}
	return msg + "; defined: " + enumerate(there)
}

func enumerate(list []string) string {
	if len(list) > 12 {
		list = append(slices.Clone(list[:12]), "…")
	}
	return strings.Join(list, ", ")
}

// stationNames checks the global fallback and the fallbacks of venues.
func (k *checker) stationNames() {
	if k.c.Fallback == "" {
		k.add("fallback", "is missing; set it to the station for items that no route matches")
	}
	k.station("fallback", k.c.Fallback)
	if !k.c.hasCook(k.c.Fallback) {
		k.warn("fallback", "is a log: no cook sees what no route matches")
	}

	for i, v := range k.c.Venues {
		if v.Fallback != "" {
			k.station(fmt.Sprintf("venues[%d].fallback", i), v.Fallback)
		}
	}
}

func (k *checker) routes() {
	takesAll := -1
	for i, r := range k.c.Routes {
		at := fmt.Sprintf("routes[%d]", i)
		if takesAll >= 0 {
			k.warn(at, "is never reached: routes[%d] matches every item", takesAll)
		} else if len(r.To) > 0 && !r.Continue && !slices.ContainsFunc(r.To, k.c.hasCook) {
			k.warn(at, "its items are only written to a log: no cook sees them; continue: true sends them to the "+
				"stations of later routes too")
		}
		if r.Venue == "" && strings.TrimSpace(r.When) == "" && !r.Continue && takesAll < 0 && !k.hasProblemBelow(at) {
			takesAll = i
		}

		for j, to := range r.To {
			here := fmt.Sprintf("%s.to[%d]", at, j)
			if slices.Index(r.To, to) < j {
				k.add(here, "%s is listed twice", quote(to))
			}
			k.station(here, to)
		}
		k.routeVenue(at+".venue", r.Venue)
	}
}

func (k *checker) routeVenue(at, name string) {
	if name == "" || k.hasProblem("venues") {
		return
	}
	var venues []string
	for _, v := range k.c.Venues {
		// a venue whose name could not be read may be the one
		if strings.EqualFold(v.Name, name) || strings.EqualFold(v.ID, name) || v.Name == "" {
			return
		}
		venues = append(venues, v.Name)
	}
	k.add(at, "%s", notFound("venue", name, venues))
}

// plan checks expressions and fields, by package plan. Each mistake has its own line of the file.
func (k *checker) plan() {
	_, err := plan.Compile(k.c.Plan())
	many, _ := err.(interface{ Unwrap() []error })
	if many == nil {
		return
	}

	for _, one := range many.Unwrap() {
		if p, ok := errors.AsType[*plan.Problem](one); ok {
			k.judged(p.Path, errors.New(p.Msg))
		}
	}
}
