package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/cmd/internal/doctor"
	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/queue"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

// newReceiver makes the endpoint that answers the service. Its only ways into the rest of the
// daemon are the queue, which stores a request, and rejects, which keeps the refused ones.
func newReceiver(a *App, conf *config.Config, p *receiver.Policy) (*receiver.Receiver, error) {
	return receiver.New(receiver.Options{
		Intake: a.queue, Policy: p, Classify: classify, Reject: a.rejects.Keep, Arrived: a.venues.arrived,
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

// newPolicy makes the part of the receiver that a reload replaces. One policy serves a whole
// request, so a request never sees half of a reload.
func newPolicy(conf *config.Config, p *plan.Plan) *receiver.Policy {
	c := conf.Receiver
	out := &receiver.Policy{
		Path:        c.Path,
		VenueHeader: c.Headers.Venue, DeviceHeader: c.Headers.Device,
		AllowFrom: c.AllowFrom, TrustedProxies: c.TrustedProxies,
		Plan: p, MaxBody: int64(c.MaxBody), Mode: doctor.SchemaMode(conf), RespondWithin: c.RespondWithin,
		ReportConflict: c.Conflict == "report",
	}
	out.Secrets = revealed(c.Secrets)
	for _, v := range conf.Venues {
		out.Venues = append(out.Venues,
			receiver.Venue{Venue: doctor.PlanVenue(v), Devices: v.Devices, Secrets: revealed(v.Secrets)})
	}
	return out
}

// revealed are several, so that a secret can be changed without a gap: the old one and the new one are valid
// until the service uses the new one.
func revealed(secrets []config.Secret) (out []string) {
	for _, s := range secrets {
		out = append(out, s.Reveal())
	}
	return out
}

// listenWebhook opens the port that the service posts to. Nothing is answered before Run: until
// then connections wait in the kernel.
func listenWebhook(a *App, conf *config.Config) error {
	l, err := listenKept(a, conf)
	if err != nil {
		return err
	}
	a.down.push("webhook listener", closeListener(l))
	a.webhookAt = l.Addr()
	// After this time the service has given up waiting. Requests that are cut off at a stop are sent
	// again and deduplicated.
	o := httpserver.Options{MaxConnections: conf.Receiver.MaxConnections, Group: a.receiver.Group,
		Grace: contract.WebhookTimeout + time.Second}
	loaded := certMetrics(a.registry)
	t, log := conf.Receiver.TLS, a.log.With("component", "receiver")
	files := httpserver.Files{ClientCA: t.ClientCAFile}
	files.Cert, files.Key = conf.WebhookFiles()
	if t.ACME.Name != "" {
		a.acme, err = httpserver.NewACME(httpserver.ACMEOptions{Name: t.ACME.Name, Directory: t.ACME.Directory,
			Files: files, CA: t.ACME.CAFile, Log: log, Loaded: loaded})
		if err != nil {
			return fmt.Errorf("receiver.tls.acme: %w", err)
		}
		o.Cert = a.acme.Certificates
		a.serve = append(a.serve, server{"acme", a.acme.Run})
	} else if t.Enabled() {
		// A certificate that cannot be read at the start is an error, because without it no order
		// arrives. Later the last good one stays active.
		if o.Cert, err = httpserver.NewCertReloader(files, log, loaded); err != nil {
			return fmt.Errorf("receiver.tls: %w", err)
		}
	}
	a.serve = append(a.serve, server{"webhook", func(ctx context.Context) error {
		return httpserver.Serve(ctx, l, a.receiver.HTTPServer(), o)
	}})
	return nil
}

// certMetrics exports the state of the webhook's certificate. An expired certificate stops every
// order at once, so the end date is exported for an alert weeks before.
func certMetrics(reg prometheus.Registerer) (loaded func(notAfter time.Time, err error)) {
	f := promauto.With(reg)
	ends := f.NewGauge(prometheus.GaugeOpts{
		Name: "ticketrail_receiver_certificate_not_after_timestamp_seconds",
		Help: "When the active TLS certificate expires; 0 without TLS.",
	})
	good := f.NewGauge(prometheus.GaugeOpts{
		Name: "ticketrail_receiver_tls_last_load_successful",
		Help: "Whether the last load of the TLS files succeeded (1) or failed (0); 1 without TLS. With ACME, 0 " +
			"before the first certificate.",
	})
	good.Set(1)
	return func(notAfter time.Time, err error) {
		if err != nil {
			good.Set(0)
			return
		}
		good.Set(1)
		ends.Set(float64(notAfter.Unix()))
	}
}
