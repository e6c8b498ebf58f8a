package app

import (
	"context"
	"fmt"

	"ticketrail/cmd/internal/admin"
	"ticketrail/queue"
	"ticketrail/receiver"
)

// shownRejects shows the refused bodies in the control API's words.
type shownRejects struct{ kept *receiver.Rejects }

func (s shownRejects) Rejects(context.Context) ([]admin.Reject, error) {
	list := s.kept.List()
	out := make([]admin.Reject, len(list))
	for i, r := range list {
		out[i] = shown(r)
	}
	return out, nil
}

func (s shownRejects) Reject(_ context.Context, id uint64) (admin.Reject, error) {
	for _, r := range s.kept.List() {
		if r.ID == id {
			return shown(r), nil
		}
	}
	return admin.Reject{}, fmt.Errorf("refused request %d: %w: the last %d are kept", id, queue.ErrNotFound, receiver.MaxRejects)
}

func shown(r receiver.Rejected) admin.Reject {
	return admin.Reject{
		ID: r.ID, Time: r.Time, Venue: r.Venue, Device: r.Device,
		Code: string(r.Code), Message: r.Message, Body: r.Body, Truncated: r.Truncated,
	}
}
