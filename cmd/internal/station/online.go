package station

import (
	"context"
	"slices"
	"strings"
	"sync"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

// CheckOnline asks every station of conf for its state. Nothing is printed or shown. It needs no
// running daemon, except for the screens, whose pages are connected to it. The order of the findings
// is that of the kinds, whichever answers first.
func CheckOnline(ctx context.Context, conf *config.Config) []admin.Finding {
	out := make([]findings, len(kinds))
	var asking sync.WaitGroup
	for i, k := range kinds {
		asking.Go(func() { out[i] = k.checkOnline(ctx, conf) })
	}
	asking.Wait()
	return slices.Concat(out...)
}

type findings []admin.Finding

// add adds what was found at a station; what to do about it follows "; to fix: ".
func (f *findings) add(level admin.Level, kind, name, text string) {
	what, do, _ := strings.Cut(text, "; to fix: ")
	*f = append(*f, admin.Finding{Level: level, Subject: kind + " " + name, Text: what, Do: do})
}
