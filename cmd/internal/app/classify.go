package app

import (
	"context"
	"errors"

	"ticketrail/queue"
	"ticketrail/receiver"
)

// classify gives an error of the queue the code of the webhook's answer. All of them are answered with 503, after
// which the service tries again up to three times; the code tells the operator the cause. It is here because receiver
// does not import queue.
func classify(err error) receiver.Code {
	switch {
	case errors.Is(err, queue.ErrBacklogFull):
		return receiver.BacklogFull
	case errors.Is(err, queue.ErrStorageFull):
		return receiver.StorageFull
	case errors.Is(err, queue.ErrClosed):
		return receiver.ShuttingDown

	// The outcome of a request that was given up may be unknown; the retry is safe either way,
	// because its key is known if it was stored.
	case errors.Is(err, queue.ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return receiver.TooSlow
	}
	return receiver.StorageFailed
}
