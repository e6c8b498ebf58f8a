package app

import (
	"context"
	"errors"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver"
)

// newReceiver makes the endpoint that answers the service. Its only ways into the rest of the
// daemon are the queue, which stores a request, and rejects, which keeps the refused ones.
func newReceiver(a *App, conf *config.Config, p *receiver.Policy) (*receiver.Receiver, error) {
	return receiver.New(receiver.Options{
		Intake: a.queue, Policy: p, Classify: classify, Reject: a.rejects.Keep, Arrived: a.venues.arrived,
		Shapes:     a.shapes,
		Logger:     a.log,
		Registerer: a.registry,
	})
}

// classify gives an error of the queue the code that the webhook answers with. All of them are
// answered with 503, after which the service tries again up to three times; the code tells the
// operator what was wrong. It is here because receiver does not import queue.
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

// listenWebhook opens the port that the service posts to, if there is a webhook. Nothing is answered before Run: until
// then connections wait in the kernel.
func listenWebhook(a *App, conf *config.Config) error {
	l, err := listenKept(a, conf)
	if err != nil || l == nil {
		return err
	}
	a.down.push("webhook listener", daemon.CloseListener(l))
	a.webhookAt = l.Addr()
	files := httpserver.Files{}
	files.Cert, files.Key = conf.WebhookFiles()
	o, acme, err := daemon.Webhook(conf.Receiver.TLS, files, a.log.With("component", "receiver"), a.registry)
	if err != nil {
		return err
	}
	if a.acme = acme; acme != nil {
		a.serve = append(a.serve, server{"acme", acme.Run})
	}
	o.MaxConnections, o.Group = conf.Receiver.MaxConnections, a.receiver.Group
	a.serve = append(a.serve, server{"webhook", func(ctx context.Context) error {
		return httpserver.Serve(ctx, l, a.receiver.HTTPServer(), o)
	}})
	return nil
}
