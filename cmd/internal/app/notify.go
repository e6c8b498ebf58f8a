package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"ticketrail/cmd/internal/notify"
	"ticketrail/queue/ticket"
)

// place is the names of the venues, for somebody who looks after several boxes.
func (a *App) place() string {
	var names []string
	for _, v := range a.active.Load().Venues {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

// printNotice prints at a station's backup that the station has failed; without a backup, at the fallback. It prints
// nothing if that station is itself the failed one, or fails too: late paper is of no use.
func (a *App) printNotice(ctx context.Context, e notify.Event) error {
	conf := a.active.Load()
	at, _ := conf.BackupOf(e.Subject)
	at = cmp.Or(at, conf.Fallback)
	for _, st := range a.stationList() {
		if st.Name == at && !st.Fine() {
			a.log.Warn("no notice is printed: its station fails too", "about", e.Subject, "station", at)
			return nil
		}
	}

	// An order like any other for the queue: it prints in its turn and is in the history. It has no venue, so no
	// order has the same key, and nothing to cook. The same notice again is a duplicate.
	id, now := fmt.Sprintf("notice-%s-%d-%d", e.ID, e.Count, e.Since.UnixMilli()), time.Now().UTC()
	_, err := a.queue.Accept(ctx, ticket.Request{ID: id, Received: now, Body: []byte("{}"),
		Drafts: []ticket.Draft{{Station: at, Ticket: ticket.Ticket{
			Request: id, Number: "NOTICE", Received: now, Zone: a.zoneName(),
			Notes: []string{strings.ToUpper(e.Subject) + " NEEDS SOMEBODY", e.Text, e.Do},
		}}}})
	return err
}
