package app

import (
	"fmt"
	"slices"
	"strings"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/plan"
)

// fields says how the fields of each configured venue's orders are used.
func (a *App) fields() admin.Fields {
	conf := a.active.Load()
	out := admin.Fields{Venues: []admin.VenueFields{}, Fields: conf.Ticket.Fields, Silence: conf.Ticket.Silence}
	for _, v := range conf.Venues {
		out.Venues = append(out.Venues, admin.VenueFields{Name: v.Name, Shape: a.shapes.Of(v.ID)})
	}
	return out
}

// examplesShown is how many unread fields of a venue the status names.
const examplesShown = 5

// fieldFindings name the fields that are not mapped. They print as they came, so it is a warning: a cook has to find
// the allergy among them.
func (a *App) fieldFindings() (out []finding.Finding) {
	for _, v := range a.fields().Venues {
		unread := v.Unread()
		if len(unread) == 0 {
			continue
		}

		found := finding.New("fields/unread/"+v.Name, finding.Warn,
			ticket.Plural(len(unread), "unread field")+" in the orders of "+v.Name, "",
			"ticketrail fields shows them, and what maps or silences them")
		slices.SortStableFunc(unread, func(a, b receiver.Field) int {
			if warns := plan.MayWarn(a.Path, a.Example); warns != plan.MayWarn(b.Path, b.Example) {
				if warns {
					return -1
				}
				return 1
			}
			return b.Requests - a.Requests
		})

		for i, u := range unread {
			if i == examplesShown {
				found.Examples = append(found.Examples, fmt.Sprintf("and %d more", len(unread)-i))
				break
			}
			found.Examples = append(found.Examples,
				fmt.Sprintf("%s: %s (%s)", u.Path, u.Example, ticket.Plural(u.Requests, "order")))
		}
		out = append(out, found)
	}

	return out
}

// forgetFields forgets the fields that a configuration has mapped, silenced, or silences no longer. The next order
// that has one shows its new use.
func (a *App) forgetFields(conf *config.Config) {
	silent := map[string]bool{}
	for _, path := range conf.Ticket.Silence {
		silent[plan.FoldPath(path)] = true
	}

	var mapped []string
	for _, paths := range conf.Ticket.Fields {
		for _, path := range paths {
			mapped = append(mapped, "."+plan.FoldPath(path))
		}
	}

	a.shapes.Forget(func(f receiver.Field) bool {
		path := plan.FoldPath(f.Path)
		isMapped := slices.ContainsFunc(mapped, func(end string) bool { return strings.HasSuffix(path, end) })
		return f.Use == plan.Unread && (silent[path] || isMapped) || f.Use == plan.Silenced && !silent[path]
	})
}
