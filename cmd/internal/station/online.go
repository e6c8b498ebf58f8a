package station

import (
	"context"
	"slices"
	"sync"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// CheckOnline asks every station of conf for its state, but the screens: their pages are connected to the running
// daemon, and `status` says how they are. Nothing is printed or shown. The findings are in the order of the
// configuration, whichever station answers first. The running daemon uses the same words.
func CheckOnline(ctx context.Context, conf *config.Config) []finding.Finding {
	sections := plainSections(conf)
	found := make([][]finding.Finding, 1+len(sections))
	var asking sync.WaitGroup // all at the same time, because the operator is waiting
	asking.Go(func() { found[0] = askPrinters(ctx, conf) })
	for i, c := range sections {
		asking.Go(func() { found[1+i] = c.ask(ctx) })
	}

	asking.Wait()
	return slices.Concat(found...)
}

// judged are the findings about a station that was asked; fine is how it answers.
func judged(asked finding.Station, fine string) []finding.Finding {
	if found := asked.Findings(time.Now()); len(found) > 0 {
		return found
	}
	return []finding.Finding{{Level: finding.OK, Subject: asked.Name, Station: true, Text: fine, Detail: asked.Address}}
}
