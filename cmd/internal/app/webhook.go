package app

import (
	"context"
	"errors"
	"strings"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver"
	"ticketrail/receiver/plan"
)

func newReceiver(a *App, conf *config.Config, p *receiver.Policy) (*receiver.Receiver, error) {
	return receiver.New(receiver.Options{
		Intake: a.queue, Policy: p, Classify: classify, Reject: a.rejects.keep,
		TLS: receiver.TLS{
			CertFile: conf.Receiver.TLS.CertFile, KeyFile: conf.Receiver.TLS.KeyFile,
			ClientCAFile: conf.Receiver.TLS.ClientCAFile,
		},
		MaxConnections: conf.Receiver.MaxConnections,
		Logger:         a.log,
		Registerer:     a.registry,
	})
}

// classify tells the service, in the endpoint's words, why the queue did not take a request.
func classify(err error) receiver.Code {
	switch {
	case errors.Is(err, queue.ErrBacklogFull):
		return receiver.BacklogFull
	case errors.Is(err, queue.ErrStorageFull):
		return receiver.StorageFull
	case errors.Is(err, queue.ErrClosed):
		return receiver.ShuttingDown
	case errors.Is(err, queue.ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return receiver.TooSlow
	}
	return receiver.StorageFailed
}

func newPolicy(conf *config.Config, p *plan.Plan) *receiver.Policy {
	c := conf.Receiver
	out := &receiver.Policy{
		Paths:       []string{c.Path},
		VenueHeader: c.Headers.Venue, DeviceHeader: c.Headers.Device,
		AllowFrom: c.AllowFrom, TrustedProxies: c.TrustedProxies,
		Plan: p, MaxBody: int64(c.MaxBody), Mode: doctor.Mode(conf), RespondWithin: c.RespondWithin,
	}
	if len(c.Secrets) > 0 {
		out.Paths = nil
		for _, s := range c.Secrets {
			out.Paths = append(out.Paths, strings.TrimSuffix(c.Path, "/")+"/"+s.Reveal())
		}
	}
	for _, v := range conf.Venues {
		out.Venues = append(out.Venues, receiver.Venue{Venue: doctor.Venue(v), Devices: v.Devices})
	}
	return out
}

func listenWebhook(a *App, conf *config.Config) error {
	l, err := listenOn(a.o.Webhook, "receiver.listen", conf.Receiver.Listen)
	if err != nil {
		return err
	}
	a.down.push("webhook listener", closeOnce(l))
	// A listener that somebody else opened follows the same rule as a configured address.
	if err := conf.Receiver.CheckListener(l.Addr()); err != nil {
		return err
	}
	a.webhookAt = l.Addr()
	a.serve = append(a.serve, server{"webhook", func(ctx context.Context) error { return a.receiver.Serve(ctx, l) }})
	return nil
}
