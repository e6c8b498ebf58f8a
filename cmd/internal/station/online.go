package station

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// CheckOnline asks every station of conf for its state. Nothing is printed or shown. It needs no
// running daemon, except for the screens, whose pages are connected to it. The order of the findings
// is the order of the kinds, whichever answers first. The running daemon uses the same words.
func CheckOnline(ctx context.Context, conf *config.Config) (out []finding.Finding) {
	answers := make([][]answer, len(kinds))
	var asking sync.WaitGroup
	for i, k := range kinds {
		asking.Go(func() { answers[i] = k.checkOnline(ctx, conf) })
	}

	asking.Wait()
	for _, a := range slices.Concat(answers...) {
		found := a.Findings()
		if a.doubt != "" {
			found = append(found, finding.Finding{ID: "station/" + a.Name + "/not_known", Level: finding.Warn,
				Subject: a.Name, Station: true, Text: a.doubt, Do: a.do})
		}
		if len(found) == 0 {
			found = []finding.Finding{{Level: finding.OK, Subject: a.Name, Station: true,
				Text: cmp.Or(a.fine, "answers"), Detail: a.Address}}
		}
		out = append(out, found...)
	}

	return out
}

// An answer is the state of a station that was asked.
type answer struct {
	finding.Station
	fine      string // how it answers
	doubt, do string // the open question after its answer, and the advice
}
