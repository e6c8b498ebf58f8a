package station

import (
	"cmp"
	"context"
	"sync"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// CheckOnline asks every station of conf for its state, but the screens: their pages are connected to the running
// daemon, and `status` says how they are. Nothing is printed or shown. The findings are in the order of the
// configuration, whichever station answers first. The running daemon uses the same words.
func CheckOnline(ctx context.Context, conf *config.Config) (out []finding.Finding) {
	var printers []answer
	var asking sync.WaitGroup // all at the same time, because the operator is waiting
	asking.Go(func() { printers = askPrinters(ctx, conf) })
	sections := plainSections(conf)
	plains := make([]answer, len(sections))
	for i, c := range sections {
		asking.Go(func() { plains[i] = c.ask(ctx) })
	}

	asking.Wait()
	for _, a := range append(printers, plains...) {
		found := a.Findings()
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
	fine string // how it answers
}
